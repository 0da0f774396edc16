// Package escape tries to get out. Every file in attacks is a hostile program
// that names what it tries and what stops it; it runs under a gear that allows
// everything, so that only the wall is left, as root and as an ordinary user,
// where the kernel gives everything and where it refuses a part.
//
// An attack reports each attempt as HELD or BREACH. A BREACH fails the test unless
// levels_test.go lists the attempt, with the reason, as one that the level does not
// stop; an attempt that is listed and held fails it too, and so does an attack that
// ends before its last attempt.
package escape
