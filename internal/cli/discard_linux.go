package cli

import "golang.org/x/sys/unix"

// discardInput throws away what was typed and not read yet. A terminal that does not do
// that is asked all the same.
func discardInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
