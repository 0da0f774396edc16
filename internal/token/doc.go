// Package token holds the credentials of principals other than the operator: what a
// token looks like, what its holder may use, and the register in which tokens are
// made, recognised and revoked.
//
// What belongs here: secrets, rights, the register over a [Store], and [File], the
// store in the data directory. What does not: how a token travels, which is web's,
// and what a gear permits.
//
// # The secret
//
// A secret is the prefix gbx_, 256 bits of the system's random source in base32, and
// a CRC-32 of what precedes it, so that scanners of source code find a leaked one and
// a damaged one is told from an unknown one without a look at the register. It is
// shown once. What is kept is its SHA-256: a slow hash protects passwords, which can
// be guessed, and nobody guesses 256 random bits.
//
// # Invariants
//
//   - A token has one [Role]: with one that runs code nothing is approved, and with one
//     that approves nothing is run, so that an agent whose token leaks to its code, or the
//     other way round, cannot ask and answer.
//   - A name is used once, also after its token was revoked: it is the principal that
//     operations and the record belong to.
//   - A token does not change after it was made, but for being revoked and used.
//   - Unknown, expired and revoked are one error, [ErrRefused], after the same work.
//   - Whoever asks after a change was written sees it, in this process and in others.
package token
