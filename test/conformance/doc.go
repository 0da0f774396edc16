// Package conformance holds the real binary against the official conformance suites of
// the protocol, over the real HTTP stack. The suites come from npm at locked versions;
// test/clients/setup.sh installs them, and what is not installed is skipped by name.
//
// baseline.yaml names each check that is expected not to pass, and why. The test fails
// for a failure that is not there, and as well for an entry that passes, for an entry
// without a reason, and when a suite ran less than it did when the figures were written.
//
// Only the suites and their baseline belong here. The fixtures that they look for are in
// internal/mcpserver/fixtures.
package conformance
