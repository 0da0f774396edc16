//go:build !linux && !darwin

package socket

import (
	"errors"
	"net"
)

// CheckPeer refuses everybody: this system does not tell who is at the other end.
func CheckPeer(net.Conn) error { return errors.New("who asks cannot be found out on this system") }
