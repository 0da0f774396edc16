// Package credential asks whoever decides for what only the operator knows or has: a
// passphrase, or a code that changes every half minute (TOTP, RFC 6238).
//
// What belongs here: the file of the data directory that says what is right, checking
// against it, and slowing down who guesses. What does not: how a credential is asked for,
// and when.
//
// # What it is worth
//
// It keeps a decision from whoever has a token or a terminal and not the credential. It
// does not keep it from a program with the operator's own rights, which can remove the
// file: for that Gearbox has to be another user's.
//
// # Invariants
//
//   - What the file asks for is asked for by every process of the data directory,
//     whatever its own settings say, and a setting that asks for what the file does not
//     have lets nobody decide.
//   - A try is counted before it is judged, so that ending the process does not undo it.
//   - A code counts once, and none counts that is older than one that did.
//   - The passphrase is kept as a slow hash (Argon2id, RFC 9106).
package credential
