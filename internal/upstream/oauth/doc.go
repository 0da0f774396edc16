// Package oauth gets and keeps the tokens with which a server by its address is called:
// the authorization code flow with PKCE (RFC 7636) through the operator's browser, with
// discovery (RFC 9728, RFC 8414), registration (RFC 7591), resource indicators (RFC 8707)
// and refresh. The flow itself is that of the SDK; what is here is the browser's way back,
// and where tokens stay.
//
// What belongs here: logging in, tokens at rest, and handing them to a transport. What
// does not: which servers there are, and calling them (upstream).
//
// # At rest
//
// A grant is a file of the folder oauth of the data directory, sealed by XChaCha20-Poly1305
// with the key in the file oauth.key beside that folder, and bound to the name and address
// of its server. That protects a copy of the folder without the key, for example in a
// backup or a bug report, and a grant from being put in the place of another one's. It
// does not protect from whoever can read the files of the user who runs Gearbox: they read
// the key, too. Both are readable by that user alone (0600).
//
// # Invariants
//
//   - No browser is opened but by [Vault.Login].
//   - A token goes to the server that it is for, to the token endpoint that gave it, and
//     into no error and no log.
package oauth
