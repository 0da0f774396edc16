package execution

import "time"

// Standing is where an operation stands, without what it is about or came to.
type Standing struct {
	State   State
	Created time.Time
	// Changed is the last change whose time is known: the end, the answer of a human, the
	// question to one, or else the creation.
	Changed time.Time
}
