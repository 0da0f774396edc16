// Package web is the edge towards the network: one handler for every listener of a
// server, with what any request passes before it is answered.
//
// What belongs here: listeners, the checks of Host, Origin and credentials, bounds on
// slow and greedy clients, health, and the JSON of the API. What does not: the
// protocol of agents, which is mcpserver's and arrives as a handler, what a token is,
// which is token's, and any decision about code.
//
// # Paths
//
//	/mcp                              the Model Context Protocol, every version
//	/healthz                          200 as long as the process answers
//	/readyz                           200 if a program could just be run, 503 with the reason if not
//	/metrics                          for Prometheus
//	GET  /api/v1/operations           ?limit=N&before=ID: the caller's operations, the newest first
//	GET  /api/v1/operations/ID        the answer of one, ?wait_seconds=N for its end
//	POST /api/v1/operations/ID/cancel
//	GET  /api/v1/approvals            what people are asked, for operators alone
//	GET  /api/v1/approvals/events     the same as it happens
//	GET  /api/v1/approvals/ID         one, with all that would be run
//	POST /api/v1/approvals/ID         answer it
//	GET  /api/v1/openapi.json         what all of this is, from openapi.yaml
//
// An error is {"error": {"code": "…", "message": "…"}}.
//
// # Who asks
//
// Over TCP the holder of a token is that token's principal. As long as there was never
// a token, and only on loopback addresses, everybody is [execution.Local]. Over a Unix
// socket the kernel vouches for the other end, which is the operator's own process, so
// that a token is not needed there, but counts where one is sent. /healthz and /readyz
// are open to all.
//
// What people are asked is shown to the holder of an operator's token and to nobody else,
// whatever the listener: by each way that is open without a token agents come too. What
// counts as an answer is approval's business.
//
// # Invariants
//
//   - Each request, of whatever method and path, passes the checks of Host and Origin
//     first: [http.CrossOriginProtection] lets GET pass, and GET opens streams here.
//   - Nothing of a body is read before it is known who sent it.
//   - No deadline cuts an answer that goes on; what is cut is a client that does not
//     send what it announced, or does not take what it asked for.
//   - HTTP/1.1 alone is spoken: its deadlines are those of the connection, and no
//     client of the protocol needs more.
package web
