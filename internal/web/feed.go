package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// kind is what an event tells.
type kind string

const (
	eventOpen      kind = "open"    // all questions that stand, once, before every other event
	eventAsked     kind = "asked"   // a question was put
	eventDecided   kind = "decided" // somebody answered, by whatever way
	eventExpired   kind = "expired"
	eventWithdrawn kind = "withdrawn" // whoever wanted the operation cancelled it, or the rules changed
)

// event is what those who follow the questions are told.
type event struct {
	Type kind              `json:"type"`
	ID   execution.ID      `json:"operation_id,omitempty"`
	Hash *execution.Digest `json:"hash,omitempty"`
	// Question is how it stands now; absent if that is not to be found out any more.
	Question *question `json:"question,omitempty"`
	// Questions are those of [eventOpen], the oldest first.
	Questions *[]question `json:"questions,omitempty"`
}

// encoded is an event that is written once for all.
type encoded struct {
	kind kind
	text []byte
}

func encode(e event) encoded {
	text, err := json.Marshal(e)
	if err != nil { // strings and times: their forms are Go's own
		panic("web: encode an event: " + err.Error())
	}
	return encoded{e.Type, text}
}

const (
	// lookEvery is how soon what another process did is seen.
	lookEvery = 200 * time.Millisecond
	// lookTime bounds one look.
	lookTime = 5 * time.Second
	// maxFollowers bounds those who follow.
	maxFollowers = 64
	// maxOpen bounds the questions of the first event, by far more than anybody answers.
	maxOpen = 10_000
)

var (
	errTooMany = errors.New("too many follow the questions already")
	errSlow    = errors.New("events were not taken in time")
	errStopped = errors.New("the server stops")
)

// feed tells of questions as they come and go, whichever process puts or answers them. It
// reads the records, and only while somebody listens.
type feed struct {
	source Approvals
	log    *slog.Logger
	now    func() time.Time
	every  time.Duration
	most   int // bytes that wait for one follower

	root  context.Context //nolint:containedctx // ends with the server, and belongs to no request
	stop  context.CancelFunc
	work  sync.WaitGroup
	woken chan struct{}

	mu        sync.Mutex // guards what follows
	followers map[*follower]struct{}
	open      map[execution.ID]question
	looking   bool
	failing   bool
}

func newFeed(a Approvals, log *slog.Logger, now func() time.Time) *feed {
	f := &feed{
		source: a, log: log, now: now, every: lookEvery, most: backlog,
		woken: make(chan struct{}, 1), followers: map[*follower]struct{}{}, open: map[execution.ID]question{},
	}
	f.root, f.stop = context.WithCancel(context.Background())
	return f
}

// close ends every stream and waits for what is under way. It may be repeated.
func (f *feed) close() {
	f.mu.Lock()
	f.stop() // after which nothing begins any more
	f.mu.Unlock()
	f.work.Wait()
}

// streams has close wait for a connection that net/http no longer knows, until done is
// called. It is false when the server stops.
func (f *feed) streams() (done func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root.Err() != nil {
		return nil, false
	}
	f.work.Add(1)
	return f.work.Done, true
}

// look has the next look taken at once.
func (f *feed) look() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// follow hands events to send until ctx ends, send fails, or the server stops. The first
// are all that is open. rest is called when nothing was sent for the time of a beat.
func (f *feed) follow(ctx context.Context, beat time.Duration, send func(encoded) error, rest func() error) error {
	l, first, err := f.join(ctx)
	if err != nil {
		return err
	}
	defer f.leave(l)
	if err := send(first); err != nil {
		return err
	}
	idle := time.NewTimer(beat)
	defer idle.Stop()
	for {
		var err error
		select {
		case <-l.ready:
			e, ok := l.next()
			if !ok {
				return errSlow
			}
			err = send(e)
		case <-idle.C:
			err = rest()
		case <-ctx.Done():
			return ctx.Err()
		case <-f.root.Done():
			return errStopped
		}
		if err != nil {
			return err
		}
		idle.Reset(beat)
	}
}

// join adds a follower, with the event of all that is open at that moment.
func (f *feed) join(ctx context.Context) (*follower, encoded, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.root.Err() != nil:
		return nil, encoded{}, errStopped
	case len(f.followers) >= maxFollowers:
		return nil, encoded{}, errTooMany
	}
	if !f.looking {
		if err := f.begin(ctx); err != nil {
			return nil, encoded{}, err
		}
	}
	open := make([]question, 0, len(f.open))
	for _, q := range f.open {
		open = append(open, q)
	}
	slices.SortFunc(open, func(a, b question) int { return a.AskedAt.Compare(b.AskedAt) })
	l := newFollower(f.most)
	f.followers[l] = struct{}{}
	return l, encode(event{Type: eventOpen, Questions: &open}), nil
}

func (f *feed) leave(l *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.followers, l)
	if len(f.followers) == 0 {
		f.look() // and find that nobody is there
	}
}

// begin reads what is open and starts looking. The mutex is held.
func (f *feed) begin(ctx context.Context) error {
	records, err := f.source.Asked(ctx, true, "", maxOpen)
	if err != nil {
		return err
	}
	clear(f.open)
	for _, r := range records {
		f.open[r.ID] = overview(r, f.now())
	}
	f.looking = true
	f.work.Go(f.run)
	return nil
}

// run looks until nobody listens any more.
func (f *feed) run() {
	again := time.NewTicker(f.every)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-f.woken:
		case <-f.root.Done():
			return
		}
		if !f.step() {
			return
		}
	}
}

// step takes one look, and is false when nobody listens.
func (f *feed) step() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.followers) == 0 {
		f.looking = false
		return false
	}
	ctx, stop := context.WithTimeout(f.root, lookTime)
	defer stop()
	news, err := f.news(ctx)
	if err != nil && !f.failing && f.root.Err() == nil {
		f.log.Error("what humans are asked cannot be followed just now", "error", err)
	}
	f.failing = err != nil
	for _, e := range news {
		f.tell(encode(e))
	}
	return true
}

// tell gives an event to everybody, and drops who has left too many. The mutex is held.
func (f *feed) tell(e encoded) {
	for l := range f.followers {
		if !l.add(e) {
			delete(f.followers, l)
		}
	}
}

// news is what has changed since the last look. What could not be read is found again by
// the next one. The mutex is held.
func (f *feed) news(ctx context.Context) (all []event, err error) {
	now, err := f.source.Pending(ctx)
	if err != nil {
		return nil, err
	}
	for id, q := range f.open {
		if hash, still := now[id]; !still || hash != q.Hash {
			e, err := f.gone(ctx, q)
			if err != nil {
				return all, err
			}
			delete(f.open, id)
			all = append(all, e)
		}
	}
	var asked []event
	for id := range now {
		if _, known := f.open[id]; known {
			continue
		}
		r, err := f.source.Find(ctx, id)
		if err != nil {
			return append(all, asked...), err
		}
		q := overview(r, f.now())
		f.open[id] = q
		asked = append(asked, event{Type: eventAsked, ID: id, Hash: &q.Hash, Question: &q})
	}
	slices.SortFunc(asked, func(a, b event) int { return a.Question.AskedAt.Compare(b.Question.AskedAt) })
	return append(all, asked...), nil
}

// gone is how a question ended that stood at the last look. If the operation has another
// one now, this one was withdrawn by the rules, or approved in vain.
func (f *feed) gone(ctx context.Context, q question) (event, error) {
	e := event{Type: eventDecided, ID: q.ID, Hash: &q.Hash}
	r, err := f.source.Find(ctx, q.ID)
	var refused *approval.RefusedError
	switch {
	case errors.As(err, &refused): // its record was removed
		e.Type = eventExpired
		return e, nil
	case err != nil:
		return event{}, err
	case r.Approval.Hash != q.Hash:
		if r.Approval.Again == execution.AgainRules {
			e.Type = eventWithdrawn
		}
		return e, nil
	}
	now := overview(r, f.now())
	e.Question = &now
	switch now.State {
	case standsExpired:
		e.Type = eventExpired
	case standsWithdrawn:
		e.Type = eventWithdrawn
	case standsOpen, standsApproved, standsDenied:
	}
	return e, nil
}
