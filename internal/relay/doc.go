// Package relay passes the messages of one client on to a server of ours that may come
// and go.
//
// What belongs here: where that server is, and single exchanges with it over streamable
// HTTP. What does not: any tool, and what a message is about, as far as the protocol lets
// one leave it alone. Servers whose tools we call ourselves are upstream's.
//
// # How messages pass
//
// Messages pass as they are, so that progress, cancellation, resources and whatever a
// later version adds need nothing here. The SDK's own HTTP client is made for its
// client type alone: it opens the stream of a session, and tells the negotiated
// version, only when that type calls it. What a message needs of HTTP is therefore
// written here, for both eras of the protocol:
//
//   - Up to 2025-11-25 there is a session, made by the client's own initialize. When the
//     server forgets it the relay makes another with the same parameters.
//   - From 2026-07-28 on each request stands alone and says in its _meta what the header
//     fields of HTTP have to repeat. A client cancels by breaking the exchange.
//
// # Invariants
//
//   - Each call of the client is answered once: by the server, or, when that is away, by
//     a small server of our own that says so.
//   - A call is never sent twice, unless the server said that it did not take it.
//   - What the server sends is never sent to another server: redirects are errors.
package relay
