package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tmaxmax/go-sse"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

// stream is what a front end hears, by either way.
type stream struct {
	t      *testing.T
	events chan event
	raw    chan string
	ended  chan error // gets the reason
}

func newStream(t *testing.T) *stream {
	return &stream{t, make(chan event, 1000), make(chan string, 1000), make(chan error, 1)}
}

func (s *stream) heard(text string) {
	var e event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		s.t.Errorf("%s: %v", text, err)
	}
	if d, err := theDescription(); err != nil {
		s.t.Error(err)
	} else if err := d.validate(json.RawMessage(`{"$ref":"#/components/schemas/Event"}`), text); err != nil {
		s.t.Errorf("%s: %v", text, err)
	}
	s.events <- e
	s.raw <- text
}

func (s *stream) next(want kind) event {
	s.t.Helper()
	select {
	case e := <-s.events:
		if e.Type != want {
			s.t.Fatalf("%+v, not %s", e, want)
		}
		return e
	case err := <-s.ended:
		s.t.Fatalf("the stream ended before %s: %v", want, err)
	}
	return event{}
}

// follows are the ways to follow.
func (s *asking) follows() map[string]func(*testing.T, string) *stream {
	return map[string]func(*testing.T, string) *stream{"SSE": s.overSSE, "WebSocket": s.overWebSocket}
}

func (s *asking) overSSE(t *testing.T, credential string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/approvals/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", credential)
	res, err := client(t).Do(r) //nolint:bodyclose // it is closed by what reads it
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	out := newStream(t)
	go func() {
		defer func() { _ = res.Body.Close() }()
		for e, err := range sse.Read(res.Body, nil) {
			if err != nil {
				out.ended <- err
				return
			}
			if !strings.Contains(e.Data, `"type":"`+e.Type+`"`) {
				t.Errorf("an event called %s: %s", e.Type, e.Data)
			}
			out.heard(e.Data)
		}
		out.ended <- nil
	}()
	return out
}

func (s *asking) overWebSocket(t *testing.T, credential string) *stream {
	t.Helper()
	c, res, err := websocket.Dial(t.Context(), s.url+"/api/v1/approvals/events", &websocket.DialOptions{ //nolint:bodyclose // of 101 there is none
		HTTPClient: client(t), HTTPHeader: http.Header{"Authorization": {credential}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res.StatusCode)
	}
	c.SetReadLimit(1 << 20)
	out := newStream(t)
	t.Cleanup(func() { _ = c.CloseNow() })
	go func() {
		for {
			_, text, err := c.Read(context.Background())
			if err != nil {
				out.ended <- err
				return
			}
			out.heard(string(text))
		}
	}()
	return out
}

func TestWhoFollowsHearsOfEveryQuestionAndItsEnd(t *testing.T) {
	for name := range startAsking(t, nil).follows() {
		t.Run(name, func(t *testing.T) {
			s := startAsking(t, nil) // whoever looked before knows older questions for a moment
			there := s.desk.put(t, time.Hour)
			f := s.follows()[name](t, s.operator)
			open := f.next(eventOpen)
			if open.Questions == nil || len(*open.Questions) != 1 || (*open.Questions)[0].ID != there.ID || (*open.Questions)[0].Hash != there.Approval.Hash {
				t.Fatalf("%+v", open)
			}
			// Another process of the data directory puts questions and answers them.
			other := openDesk(t, s.dir)
			r := other.put(t, time.Hour)
			if e := f.next(eventAsked); e.ID != r.ID || *e.Hash != r.Approval.Hash || e.Question.Summary != r.Approval.Summary || e.Question.State != standsOpen {
				t.Errorf("%+v", e)
			}
			if got := s.decide(there.ID, yes(there)); got.status != http.StatusOK {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if e := f.next(eventDecided); e.ID != there.ID || *e.Hash != there.Approval.Hash || e.Question.Answer.Decision != execution.Approved || e.Question.Answer.By != "api:boss" {
				t.Errorf("%+v", e)
			}
			other.answer(t, r, execution.Refused)
			if e := f.next(eventDecided); e.ID != r.ID || e.Question.Answer.Decision != execution.Refused || e.Question.Answer.By != "a terminal" || e.Question.Answer.Message != "no" {
				t.Errorf("%+v", e)
			}
			for how, status := range map[kind]execution.Status{eventWithdrawn: execution.StatusCancelled, eventExpired: execution.StatusDenied} {
				r := other.put(t, time.Hour)
				f.next(eventAsked)
				other.end(t, r, status)
				if e := f.next(how); e.ID != r.ID || *e.Hash != r.Approval.Hash {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestAnOperationThatAsksAnewIsTwoQuestions(t *testing.T) {
	s := startAsking(t, nil)
	r := s.desk.put(t, time.Hour)
	f := s.overSSE(t, s.operator)
	f.next(eventOpen)
	s.desk.answer(t, r, execution.Approved)
	s.desk.move(t, r.ID, execution.StateApproved, execution.StateResumed, execution.Change{})
	next := *r.Approval
	next.Hash = execution.DigestOf([]byte("another one"))
	s.desk.move(t, r.ID, execution.StateResumed, execution.StatePending, execution.Change{Question: &next})
	if e := f.next(eventDecided); *e.Hash != r.Approval.Hash {
		t.Errorf("%+v", e)
	}
	if e := f.next(eventAsked); e.ID != r.ID || *e.Hash != next.Hash {
		t.Errorf("%+v", e)
	}
}

func TestWhoFollowsLaterHearsWhatIsOpenThen(t *testing.T) {
	s := startAsking(t, nil)
	for range 3 {
		f := s.overSSE(t, s.operator)
		if e := f.next(eventOpen); e.Questions == nil || len(*e.Questions) != 0 {
			t.Fatalf("%+v", e)
		}
	}
	a, b := s.desk.put(t, time.Hour), s.desk.put(t, time.Hour)
	f := s.overWebSocket(t, s.operator)
	// The others look already, and may not have seen them yet.
	seen := map[execution.ID]bool{}
	for _, q := range *f.next(eventOpen).Questions {
		seen[q.ID] = true
	}
	for len(seen) < 2 {
		seen[f.next(eventAsked).ID] = true
	}
	if !seen[a.ID] || !seen[b.ID] {
		t.Errorf("%v", seen)
	}
}

func TestAStreamEndsWithItsTokenAndWithTheServer(t *testing.T) {
	s := startAsking(t, func(s *Server) { s.bearer.recheck = time.Millisecond })
	for name, follow := range s.follows() {
		t.Run(name, func(t *testing.T) {
			who := strings.ToLower(name)
			f := follow(t, "Bearer "+s.create(who, token.Rights{Role: token.Operator}))
			f.next(eventOpen)
			if _, err := s.tokens.Revoke(who); err != nil {
				t.Fatal(err)
			}
			err := <-f.ended
			if name == "WebSocket" && websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("%v", err)
			}
		})
	}
	one, two := s.overSSE(t, s.operator), s.overWebSocket(t, s.operator)
	one.next(eventOpen)
	two.next(eventOpen)
	s.end()
	<-one.ended
	if err := <-two.ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("%v", err)
	}
}

func TestAQuietStreamShowsThatItLives(t *testing.T) {
	s := startAsking(t, nil)
	rest := errors.New("rested")
	beats := 0
	err := s.feed.follow(t.Context(), time.Millisecond, func(encoded) error { return nil }, func() error {
		if beats++; beats == 3 {
			return rest
		}
		return nil
	})
	if !errors.Is(err, rest) {
		t.Error(err)
	}
}

func TestWhoIsTooSlowIsDroppedAndNobodyWaitsForIt(t *testing.T) {
	s := startAsking(t, nil)
	e := encode(event{Type: eventAsked})
	s.feed.mu.Lock()
	s.feed.most = 3 * len(e.text)
	s.feed.mu.Unlock()
	slow, first, err := s.feed.join(t.Context())
	if err != nil || first.kind != eventOpen {
		t.Fatal(err)
	}
	tell := func() (there bool) {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		s.feed.tell(e)
		_, there = s.feed.followers[slow]
		return there
	}
	for range 3 {
		if !tell() {
			t.Fatal("it was dropped too soon")
		}
	}
	if got, ok := slow.next(); !ok || got.kind != eventAsked { // what is taken makes room
		t.Errorf("%+v", got)
	}
	if !tell() || tell() {
		t.Error("it is not dropped when there is no room")
	}
	<-slow.ready
	if _, ok := slow.next(); ok {
		t.Error("it goes on as if nothing were left out")
	}
	s.feed.leave(slow)
}

// TestABurstIsTakenByWhoFollows: a thousand questions are withdrawn and asked anew between
// two looks, as by one reload, before anybody takes an event.
func TestABurstIsTakenByWhoFollows(t *testing.T) {
	const many = 1000
	b := &burst{operations: map[execution.ID]execution.Record{}}
	b.ask(many, "")
	f := newFeed(b, discard(), time.Now)
	f.every = time.Hour // each look is taken by hand
	defer f.close()
	l, first, err := f.join(t.Context())
	if err != nil || strings.Count(string(first.text), `"operation_id"`) != many {
		t.Fatalf("%v %d", err, len(first.text))
	}
	b.ask(many, execution.AgainRules)
	if !f.step() {
		t.Fatal("nobody follows")
	}
	count := map[kind]int{}
	for range 2 * many {
		<-l.ready
		e, ok := l.next()
		if !ok {
			t.Fatalf("it was dropped after %v", count)
		}
		count[e.kind]++
	}
	if count[eventWithdrawn] != many || count[eventAsked] != many || len(l.ready) != 0 {
		t.Errorf("%v", count)
	}
}

// burst are questions that change all at once.
type burst struct {
	Approvals

	operations map[execution.ID]execution.Record
	round      int
}

func (b *burst) ask(n int, again string) {
	b.round++
	for i := range n {
		id := execution.ID(fmt.Sprintf("op_%d", i))
		b.operations[id] = execution.Record{ID: id, State: execution.StatePending, Approval: &execution.Approval{
			Hash: execution.DigestOf([]byte(id), []byte{byte(b.round)}), Summary: "It asks.", Expires: time.Now().Add(time.Hour), Again: again,
		}}
	}
}

func (b *burst) Asked(context.Context, bool, execution.ID, int) ([]execution.Record, error) {
	return slices.Collect(maps.Values(b.operations)), nil
}

func (b *burst) Pending(context.Context) (map[execution.ID]execution.Digest, error) {
	all := map[execution.ID]execution.Digest{}
	for id, r := range b.operations {
		all[id] = r.Approval.Hash
	}
	return all, nil
}

func (b *burst) Find(_ context.Context, id execution.ID) (execution.Record, error) {
	return b.operations[id], nil
}

// TestAQuestionThatNobodyDecidedIsWithdrawn: whether the next question stood already when it
// was looked for, or came just after.
func TestAQuestionThatNobodyDecidedIsWithdrawn(t *testing.T) {
	for again, want := range map[string]kind{execution.AgainRules: eventWithdrawn, execution.AgainOther: eventDecided} {
		b := &burst{operations: map[execution.ID]execution.Record{}}
		b.ask(1, "")
		f := newFeed(b, discard(), time.Now)
		old := overview(b.operations["op_0"], time.Now())
		f.open["op_0"] = old
		b.ask(1, again)
		for name, source := range map[string]Approvals{"already": b, "just after": late{b}} {
			f.source = source
			f.open = map[execution.ID]question{"op_0": old}
			all, err := f.news(t.Context())
			if err != nil || len(all) == 0 || all[0].Type != want || *all[0].Hash != old.Hash {
				t.Errorf("%s, %s: %+v %v", again, name, all, err)
			}
		}
		f.close()
	}
}

// late tells of no question yet that can be found.
type late struct{ *burst }

func (late) Pending(context.Context) (map[execution.ID]execution.Digest, error) { return nil, nil }

func TestOnlySoManyFollowAtOnce(t *testing.T) {
	s := startAsking(t, nil)
	for range maxFollowers {
		f, _, err := s.feed.join(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.feed.leave(f)
	}
	if got := s.ask("GET", "/api/v1/approvals/events", "", "Authorization", s.operator); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestAPageOfAnotherOriginOpensNoWebSocket(t *testing.T) {
	s := startAsking(t, nil)
	for _, origin := range []string{"http://evil.example", "null"} {
		_, res, err := websocket.Dial(t.Context(), s.url+"/api/v1/approvals/events", &websocket.DialOptions{ //nolint:bodyclose // Dial has read it
			HTTPClient: client(t), HTTPHeader: http.Header{"Authorization": {s.operator}, "Origin": {origin}},
		})
		if err == nil || res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v %v", origin, res, err)
		}
	}
}

// counted tells how often the records were looked at.
type counted struct {
	desk
	looks chan struct{}
}

func (c counted) Pending(ctx context.Context) (map[execution.ID]execution.Digest, error) {
	select {
	case c.looks <- struct{}{}:
	default:
	}
	return c.desk.Pending(ctx)
}

func TestNobodyLooksWhileNobodyFollows(t *testing.T) {
	c := counted{openDesk(t, t.TempDir()), make(chan struct{}, 1)}
	f := newFeed(c, discard(), time.Now)
	f.every = time.Millisecond
	defer f.close()
	one, _, err := f.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-c.looks
	f.leave(one)
	f.work.Wait() // it ends by itself
	f.mu.Lock()
	looking := f.looking
	f.mu.Unlock()
	if looking {
		t.Error("it still looks")
	}
	if _, _, err := f.join(t.Context()); err != nil { // and begins again
		t.Fatal(err)
	}
	for len(c.looks) > 0 {
		<-c.looks
	}
	<-c.looks
}
