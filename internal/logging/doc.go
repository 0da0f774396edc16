// Package logging says how what is logged is written: the keys of a line, and what is
// masked in free text before it is kept.
//
// A [Redactor] masks by key and by pattern. What it is for is text that Gearbox does
// not make itself: reasons, names that clients give themselves, error messages, the
// arguments of tools. Source code, inputs and outputs are not logged at all, masked or
// not. Where lines go, and what is worth one, is the business of others.
//
// # Invariants
//
//   - Masking twice gives what masking once gives.
//   - The time is linear in the length of the text: patterns are those of RE2, and a
//     text is gone through a fixed number of times at most.
//   - A text that does not come to rest within those is masked as a whole.
//
// A mask is an aid against what is written down by accident. It is no wall: whoever
// means to log a secret only has to write it backwards.
package logging
