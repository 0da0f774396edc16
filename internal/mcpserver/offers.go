package mcpserver

import (
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// mostOffers bounds what is remembered: beyond it a question may be offered no second time.
const mostOffers = 10_000

// offers remembers which questions the clients of a caller were asked to show, so that each
// is shown once. The zero value is ready.
type offers struct {
	mu   sync.Mutex // guards what follows
	last map[execution.ID]offer
}

type offer struct {
	question execution.Digest
	times    int
}

// fresh reports whether a question stands that nobody was asked to show; with again only
// one that takes the place of another that somebody was.
func (o *offers) fresh(res execution.Result, again bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, known := o.last[res.OperationID]
	if res.Status != execution.StatusPendingApproval || again && !known {
		return false
	}
	return !known || last.question != res.Question
}

// made is told that a client is asked to show a question.
func (o *offers) made(res execution.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = map[execution.ID]offer{}
	}
	for id := range o.last {
		if len(o.last) < mostOffers {
			break
		}
		delete(o.last, id)
	}
	o.last[res.OperationID] = offer{res.Question, o.last[res.OperationID].times + 1}
}

// times is how many questions about an operation were shown.
func (o *offers) times(id execution.ID) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[id].times
}
