package endpoint

import "errors"

var (
	// ErrCredential says that there is no usable key, or that the endpoint refused it.
	ErrCredential = errors.New("the model's credential")
	// ErrBusy says that the endpoint takes no more requests for now, or that what was paid
	// for is used up.
	ErrBusy = errors.New("the model's endpoint takes no more requests")
	// ErrUnavailable says that the endpoint cannot be reached or fails.
	ErrUnavailable = errors.New("the model's endpoint is unavailable")
	// ErrRequest says that the endpoint refused the request, such as for a model that it
	// does not have.
	ErrRequest = errors.New("the model's endpoint refused the request")
	// ErrMalformed says that a reply is none of the wire format.
	ErrMalformed = errors.New("the reply of the model's endpoint is malformed")
	// ErrTooLong says that a reply is longer than is read.
	ErrTooLong = errors.New("the reply of the model's endpoint is too long")
)
