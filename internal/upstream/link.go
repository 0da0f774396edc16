package upstream

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is how a session reaches its server, for one session.
type link interface {
	mcp.Transport
	// version is the newest version of the protocol to offer; empty is any.
	version() string
	// cut ends the connection and what it needs, in bounded time. What is under way fails.
	cut()
	// explain says, after the cut, why the session failed or ended; err is what the SDK
	// says of it, and may be nil.
	explain(err error) string
	// speaksOld reports, after the cut, whether the server may be one that only older means
	// reach: SSE, or the protocol with sessions.
	speaksOld() bool
	// grace is how long the end of a session can take to be known after a call has failed
	// because of it.
	grace() time.Duration
	// trouble is what went wrong last without ending the session; empty if all is well.
	trouble() string
	// last is the end of what the server writes beside the protocol.
	last() string
	// ignored counts what is no message, with the beginning of the first.
	ignored() (int, string)
}

// probeTime is how long a server may take to answer the probe for the sessionless
// protocol. Older servers should refuse what they do not know, and some are silent.
func probeTime(s Spec) time.Duration { return s.startupTimeout() / 2 }
