//go:build linux

package linux

// multiarch is the directory name of this machine's libraries on Debian and its kin.
const multiarch = "aarch64-linux-gnu"
