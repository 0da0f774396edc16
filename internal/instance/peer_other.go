//go:build !linux && !darwin

package instance

import (
	"errors"
	"net"
)

// checkPeer refuses everybody: this system does not tell who is at the other end.
func checkPeer(net.Conn) error { return errors.New("who asks cannot be found out on this system") }
