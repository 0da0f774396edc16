package web

import "errors"

// errInQuery says that a credential came where it is written down by others.
var errInQuery = errors.New("a token in the URL ends up in logs, so it is not taken there: send it in the header Authorization: Bearer, and revoke this one")

// errTaken says that a socket cannot be made where something else is.
var errTaken = errors.New("there is something else of this name: choose another path")
