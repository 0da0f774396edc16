// Package bridge is the channel between the host and the trusted guest inside a
// sandbox: a stream of frames over any ordered, reliable byte stream (a socket
// pair, two pipes, the attached stream of a container). It knows nothing of
// what carries it and nothing of what the frames mean beyond their kinds.
//
// Every byte from the guest's end is hostile input: by the time it arrives, the
// program may have written it. The decoder bounds what it holds, and a stream
// that breaks the rules is dead for good.
//
// # The stream
//
// A stream is a sequence of chunks. All integers are big-endian.
//
//	offset  size  field
//	0       1     version, 1
//	1       1     kind
//	2       2     flags: bit 0 (MORE) says that another chunk of this frame follows
//	4       4     id
//	8       4     length of the payload, at most 65,536
//	12      …     payload
//
// The payloads of the chunks of one frame, joined, are
//
//	0       4     length h of the head
//	4       h     the head: one JSON object in UTF-8
//	4+h     …     the body: bytes without interpretation
//
// Chunks of frames with different ids may be interleaved; chunks of one id come
// in order and agree in kind. An unknown version, unknown flag bits, a payload
// over the limit, a head longer than its frame, a frame over the connection's
// limit, or too many unfinished frames are errors ([ErrProtocol]).
//
// # The kinds and the order of one execution
//
//	guest → host  hello     the guest is sealed and parked. {"protocol":1,"python":"3.14.6","abilities":[…]}
//	host → guest  analyse   body: the source. {"language":"python"}
//	guest → host  facts     {"facts":[{"kind","target","via","line","column"}],"failure":{…} if it does not parse}
//	host → guest  arm       limits, environment and files, all before any user code; body: the files' bytes
//	guest → host  arm       {"error":""} once they are in force
//	host → guest  run       {"variables":{…}}: the parsed source of analyse runs
//	guest → host  result    how it ended; then the guest parks until it is killed
//
// Bash is parsed by the host. Its source crosses by analyse like any other, and the
// facts that come back are empty. A bash program gives no result: the shell takes
// the guest's place, the stream ends as it starts, and its exit status is all
// there is. A result comes only when the shell could not be started.
//
// A guest that does not know a kind answers nothing and parks. display, ask and
// progress are reserved. The heads of the kinds in use are the exported Head types of
// this package.
//
// # Calls
//
// While a program runs, until its result, it may ask for the tools of other servers:
//
//	guest → host  call      [CallHead]; body: the arguments, where it wants a tool called
//	host → guest  call      [AnswerHead], with the id of the call; body: the value
//	guest → host  cancel    {}, with the id of the call: nobody waits for it any more
//
// The program chooses the id, which is its own until the answer is written. Answers come
// in any order, also to calls that were cancelled. To cancel what is not due does nothing. The host takes at most [MaxCalls] calls that are due, with
// [MaxArgumentsDue] bytes of arguments together; one more is answered at once with the
// error CallLimitExceeded. An id that is used while its answer is due, a head or
// arguments over their limits ([ReadCall]), and any other kind of frame are errors
// ([ErrProtocol]) that end the program.
//
// The body of a module's answer is the JSON text of its descriptor:
//
//	{"version":1,"server":…,"module":…,"doc":…,"functions":[
//	  {"python":…,"raw":…,"signature":"(*, title: str, body: str = ...) -> dict","doc":…,
//	   "parameters":[{"python":…,"raw":…,"required":true}]}]}
//
// and without a server that of the list {"version":1,"modules":[{"module":…,"server":…,"doc":…}]}.
// Searches and descriptions are answered with text.
//
// A result ends the conversation: calls that are due have no answer any more, and what
// comes after it is not read.
//
// The guest's end is reachable by the program. A result frame is therefore
// exactly as trustworthy as what the program prints; only the first one counts.
package bridge
