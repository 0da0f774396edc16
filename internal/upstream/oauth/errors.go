package oauth

import (
	"errors"
	"fmt"

	"golang.org/x/oauth2"
)

var (
	// ErrLogin says that the operator has to log in first, or again.
	ErrLogin = errors.New("the server asks for authorization, and there is no login that it accepts")
	// ErrNotNeeded says that a server asks for no authorization.
	ErrNotNeeded = errors.New("the server answers without any login, so there is nothing to log in to")
	// ErrUnreadable says that a grant cannot be read with the key.
	ErrUnreadable = errors.New("the kept login cannot be read: it belongs to another key, or was changed; log in again")
	// ErrNone says that there is no login for a server.
	ErrNone = errors.New("there is no login for this server")
)

// told is an error of a token endpoint without what else its answer held.
func told(err error) error {
	var r *oauth2.RetrieveError
	if !errors.As(err, &r) {
		return err
	}
	if r.ErrorCode == "" {
		status := 0
		if r.Response != nil {
			status = r.Response.StatusCode
		}
		return fmt.Errorf("the token endpoint refuses with HTTP status %d", status)
	}
	return fmt.Errorf("the token endpoint refuses: %.100q (%.300q)", r.ErrorCode, r.ErrorDescription)
}
