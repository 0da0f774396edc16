// Package e2e drives the gearbox binary from outside, as a person or a client
// would: scripts in testdata, run by testscript. It has no code but tests, knows
// nothing of the rooms, and keeps its own picture of what is printed.
package e2e
