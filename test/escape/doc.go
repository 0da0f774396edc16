// Package escape tries to get out. Every file in attacks is a hostile program
// that names what it tries and what stops it; it runs under a gear that allows
// everything, so that only the wall is left, as root and as an ordinary user.
//
// An attack reports each attempt as HELD or BREACH. One BREACH fails the test,
// and so does an attack that ends before its last attempt.
package escape
