//go:build !linux

package pressure

// Memory returns a function that reports whether memory is short: never.
func Memory() func() bool { return func() bool { return false } }
