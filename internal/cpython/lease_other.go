//go:build !unix

package cpython

import "os"

// lease is nothing here: the system itself refuses to remove a file in use.
type lease struct{}

func takeLease(string) (*lease, error) { return &lease{}, nil }

func (*lease) release() {}

func (*lease) share() ([]*os.File, error) { return nil, nil }

func leased(string) bool { return false }
