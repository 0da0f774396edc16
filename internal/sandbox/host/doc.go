// Package host is the backend without isolation: each child is an ordinary
// process of the operator's own interpreter with the server's own rights, for
// gears that say `isolation: none`. It exists on Unix; elsewhere the package is
// empty.
//
// It keeps the order that an honest program expects: a workspace of its own
// that is removed afterwards, resource limits, and an end of everything that
// the program started. A small keeper process per child does the last: on Linux
// it is a child subreaper (prctl(2)), so that daemons in sessions of their own
// are found too; elsewhere it ends the program's process group only. A program
// that kills its keeper escapes that, as it can escape everything else here.
//
// What starts processes for a run without isolation belongs here. Nothing here
// is a wall, and nothing may be built on it as if it were one.
package host
