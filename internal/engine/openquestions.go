package engine

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// openQuestions are those about the calls of one run that a human has been asked and that
// nobody has answered, in the order in which they came. The zero value has none.
type openQuestions struct {
	mu   sync.Mutex // guards what follows
	list []openQuestion
	some chan struct{} // closed while there are some; nil until somebody waits
}

type openQuestion struct {
	call execution.ID // the operation that is the call
	*execution.Approval
}

// put adds the question about a call, or puts it in the place of the one before.
func (o *openQuestions) put(call execution.ID, q *execution.Approval) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.of(call); i >= 0 {
		o.list[i].Approval = q
		return
	}
	o.list = append(o.list, openQuestion{call, q})
	if len(o.list) == 1 && o.some != nil {
		close(o.some)
	}
}

// remove forgets the question about a call, if there is one.
func (o *openQuestions) remove(call execution.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.of(call)
	if i < 0 {
		return
	}
	o.list = slices.Delete(o.list, i, i+1)
	if len(o.list) == 0 {
		o.some = nil
	}
}

// of is the place of a call in the list, -1 for none. The mutex is held.
func (o *openQuestions) of(call execution.ID) int {
	return slices.IndexFunc(o.list, func(q openQuestion) bool { return q.call == call })
}

// any is closed when there are some, now or later.
func (o *openQuestions) any() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.some == nil {
		o.some = make(chan struct{})
		if len(o.list) > 0 {
			close(o.some)
		}
	}
	return o.some
}

// tell says in the answer for the run what a human is asked, and how they decide.
func (o *openQuestions) tell(r execution.Result) execution.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) == 0 {
		return r
	}
	summaries, hints, expires := []string{"The program waits for a human."}, []string(nil), o.list[0].Expires
	for _, q := range o.list {
		if !slices.Contains(summaries, q.Summary) {
			summaries = append(summaries, q.Summary)
		}
		for _, p := range askedFor(q.Approval) {
			if !slices.Contains(r.Permissions, p) {
				r.Permissions = append(r.Permissions, p)
			}
		}
		hints = append(hints, "gearbox approvals show "+string(q.call))
		if q.Expires.Before(expires) {
			expires = q.Expires
		}
	}
	r.Summary, r.ExpiresAt = strings.Join(summaries, " "), expires.Format(time.RFC3339)
	r.ApproveHint = "The user decides in a terminal: " + strings.Join(hints, "; ")
	return r
}
