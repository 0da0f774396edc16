//go:build !unix

package connect

import "testing"

// freeze would stop a server without ending it: there is no signal for that here.
func (s *server) freeze(t *testing.T) {
	t.Helper()
	t.Skip("skipped: no signal stops a process on this system")
}

// thaw lets a server go on that freeze has stopped, of which there is none.
func (s *server) thaw(t *testing.T) {
	t.Helper()
	t.Skip("skipped: no signal lets a process go on on this system")
}
