//go:build linux

package linux

// multiarch is the directory name of this machine's libraries on Debian and its kin.
const multiarch = "x86_64-linux-gnu"
