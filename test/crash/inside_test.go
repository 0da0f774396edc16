//go:build linux

package crash

// insideEnv tells a test binary that it runs within namespaces of its own, and where
// the one outside keeps what both need.
const insideEnv = "GEARBOX_CRASH_INSIDE"
