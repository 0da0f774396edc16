// Package telemetry is how Gearbox is observed: the line of the log that each audit
// event becomes, and the metrics that Prometheus reads.
//
// Nothing that is observed knows of it. [Metrics] wraps the interfaces through which
// the rooms meet (the engine as its callers see it, the journal, the door, an HTTP
// handler), and reads the rest when it is asked (the pools, the load). What belongs here
// is what is counted and how it is named; what it means that something happened is
// the business of the room where it does.
//
// # Labels
//
// A label has a closed set of values, written down in this package or taken from an
// enumeration of another room. What is outside the set is counted as "other". So no
// principal, no id, no path and no word of a client ever becomes a series, and the
// number of series is known at the start. Each of them is there from the start, at 0:
// a rate over a series that appears with its first event misses that event.
//
// # Logs
//
// Source code, inputs and outputs never reach a log: code appears as its digest.
package telemetry
