// Package connect tests gearbox connect as clients meet it: real processes of the
// product on both sides, a client of the official SDK, servers that die.
package connect
