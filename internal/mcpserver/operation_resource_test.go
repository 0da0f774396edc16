package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func uriOf(id execution.ID) string { return "operation://" + string(id) }

func read(t *testing.T, session *mcp.ClientSession, uri string) (execution.Result, error) {
	t.Helper()
	res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return execution.Result{}, err
	}
	if c := res.Contents[0]; c.MIMEType != "application/json" || c.URI != uri {
		t.Errorf("%+v", c)
	}
	return decodeAnswer(t, res.Contents[0].Text), nil
}

func notFound(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && strings.Contains(e.Message, "not found")
}

func TestAnOperationIsAResourceOfItsOwnPrincipal(t *testing.T) {
	for _, era := range eras() {
		engine := newAsking()
		s, _ := newServer(t, Config{Engine: engine})
		callers := twoCallers()
		callers["d"] = execution.Caller{Principal: "token:d"}
		srv := overHTTPServer(t, s, callers)
		owner, stranger, unentitled := connectHTTP(t, srv.URL, "", era), connectHTTP(t, srv.URL, "d", era), connectHTTP(t, srv.URL, "b", era)
		id := structured(t, call(t, owner, "execute", map[string]any{"code": "1"})).OperationID
		if a, err := read(t, owner, uriOf(id)); err != nil || a.Status != execution.StatusPendingApproval || a.Summary == "" {
			t.Errorf("%s: %+v, %v", era, a, err)
		}
		engine.end(id, done("it ran"))
		if a, err := read(t, owner, uriOf(id)); err != nil || a.Status != execution.StatusOK || a.Stdout != "it ran" {
			t.Errorf("%s: %+v, %v", era, a, err)
		}
		own := structured(t, call(t, unentitled, "execute", map[string]any{"code": "1"})).OperationID
		for name, c := range map[string]struct {
			session *mcp.ClientSession
			uri     string
		}{
			"another principal's":        {stranger, uriOf(id)},
			"one's own without a right":  {unentitled, uriOf(own)},
			"an unknown one":             {owner, uriOf("op_unknown")},
			"something below an id":      {owner, uriOf(id) + "/decision"},
			"an id with a query":         {owner, uriOf(id) + "?approve=1"},
			"none":                       {owner, "operation://"},
			"one with another in its id": {owner, uriOf(id) + "%2f.."},
		} {
			if a, err := read(t, c.session, c.uri); !notFound(err) {
				t.Errorf("%s: %s: %+v, %v", era, name, a, err)
			}
		}
	}
}

func TestTheResourceIsListedForWhomItIs(t *testing.T) {
	s, _ := newServer(t, Config{Engine: newAsking()})
	srv := overHTTPServer(t, s, twoCallers())
	for caller, want := range map[string]int{"": 1, "b": 0} {
		list, err := connectHTTP(t, srv.URL, caller, "2026-07-28").ListResourceTemplates(t.Context(), nil)
		if err != nil || len(list.ResourceTemplates) != want {
			t.Errorf("%q: %v, %v", caller, list, err)
		}
	}
}

// updates is a client that is told of changes.
func updates() (*mcp.ClientOptions, chan string) {
	told := make(chan string, 100)
	return &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI }}, told
}

// TestASubscriberIsToldOfEachChangeWhoeverMakesIt: the states are changed as another
// process would, without a word to the server.
func TestASubscriberIsToldOfEachChangeWhoeverMakesIt(t *testing.T) {
	for _, era := range eras() {
		synctest.Test(t, func(t *testing.T) {
			engine := newAsking()
			s, _ := newServer(t, Config{Engine: engine})
			o, told := updates()
			session := connect(t, s, era, o)
			id := structured(t, call(t, session, "execute", map[string]any{"code": "1"})).OperationID
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriOf(id)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, state := range []execution.State{execution.StateApproved, execution.StateResumed, execution.StateRunning} {
				<-time.After(time.Minute) // of the bubble
				if len(told) != 0 {
					t.Errorf("%s: told of nothing", era)
				}
				start := time.Now()
				engine.move(id, state)
				if uri := <-told; uri != uriOf(id) || time.Since(start) > 2*lookEvery {
					t.Errorf("%s: told of %s after %v", era, uri, time.Since(start))
				}
			}
			engine.end(id, done("it ran"))
			<-told
			if err := session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uriOf(id)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if w := s.local.watching; w.lookers != 0 || len(w.by) != 0 || len(w.watched) != 0 {
				t.Errorf("%s: it looks on for nobody: %+v", era, w)
			}
		})
	}
}

func TestASubscriptionThatWasEndedTellsOfNothing(t *testing.T) {
	for _, era := range eras() {
		synctest.Test(t, func(t *testing.T) {
			engine := newAsking()
			s, _ := newServer(t, Config{Engine: engine})
			o, told := updates()
			session := connect(t, s, era, o)
			var ids []execution.ID
			for range 2 {
				id := structured(t, call(t, session, "execute", map[string]any{"code": "1"})).OperationID
				if ids = append(ids, id); session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriOf(id)}) != nil {
					t.Fatal("not subscribed")
				}
			}
			synctest.Wait()
			if err := session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uriOf(ids[0])}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute) // of the bubble
			engine.move(ids[0], execution.StateApproved)
			engine.move(ids[1], execution.StateApproved)
			if uri := <-told; uri != uriOf(ids[1]) {
				t.Errorf("%s: told of %s", era, uri)
			}
			<-time.After(time.Minute) // of the bubble
			if len(told) != 0 {
				t.Errorf("%s: told of %s", era, <-told)
			}
		})
	}
}

// TestNobodyLooksForSessionsThatAreGone: the server ends only when no goroutine is left,
// which synctest checks as well.
func TestNobodyLooksForSessionsThatAreGone(t *testing.T) {
	for _, era := range eras() {
		synctest.Test(t, func(t *testing.T) {
			engine := newAsking()
			s, _ := newServer(t, Config{Engine: engine})
			near, far := mcp.NewInMemoryTransports()
			served := make(chan error)
			go func() { served <- s.Serve(context.Background(), far) }()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			id := structured(t, call(t, session, "execute", map[string]any{"code": "1"})).OperationID
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriOf(id)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if s.local.watching.lookers != 1 {
				t.Errorf("%s: nobody looks", era)
			}
			_ = session.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if w := s.local.watching; w.lookers != 0 || len(w.watched) != 0 {
				t.Errorf("%s: %d look", era, w.lookers)
			}
		})
	}
}

func TestSubscriptionsAreBoundedAndOnesOwn(t *testing.T) {
	engine := newAsking()
	s, _ := newServer(t, Config{Engine: engine})
	callers := twoCallers()
	callers["d"] = execution.Caller{Principal: "token:d"}
	srv := overHTTPServer(t, s, callers)
	owner, stranger := connectHTTP(t, srv.URL, "", "2025-11-25"), connectHTTP(t, srv.URL, "d", "2025-11-25")
	subscribe := func(session *mcp.ClientSession, uri string) error {
		return session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri})
	}
	for i := range maxPerSession + 1 {
		id, err := engine.Submit(t.Context(), execution.Request{Principal: "token:a", Code: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		err = subscribe(owner, uriOf(id))
		if (err == nil) != (i < maxPerSession) {
			t.Fatalf("subscription %d: %v", i+1, err)
		}
	}
	if err := subscribe(stranger, uriOf("op_1")); !notFound(err) {
		t.Errorf("another principal: %v", err)
	}
	if err := subscribe(owner, "operation://op_unknown"); !notFound(err) {
		t.Errorf("an unknown one: %v", err)
	}
	if err := subscribe(owner, "env://nothing"); !notFound(err) {
		t.Errorf("no resource: %v", err)
	}
	if err := subscribe(owner, "env://gear"); err != nil {
		t.Errorf("one that never changes: %v", err)
	}
	if err := owner.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uriOf("op_1")}); err != nil {
		t.Fatal(err)
	}
	if err := subscribe(owner, uriOf(execution.ID(fmt.Sprintf("op_%d", maxPerSession+1)))); err != nil {
		t.Errorf("after one ended: %v", err)
	}
}

// TestAListenerOverHTTPIsToldOfItsOwnOperationsOnly covers the era without sessions, where
// each subscription is a request that lasts.
func TestAListenerOverHTTPIsToldOfItsOwnOperationsOnly(t *testing.T) {
	for _, era := range eras() {
		engine := newAsking()
		s, _ := newServer(t, Config{Engine: engine})
		callers := twoCallers()
		callers["d"] = execution.Caller{Principal: "token:d"}
		srv := overHTTPServer(t, s, callers)
		o, told := updates()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: as("d")}}, &mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		own := structured(t, call(t, session, "execute", map[string]any{"code": "1"})).OperationID
		others := structured(t, call(t, connectHTTP(t, srv.URL, "", era), "execute", map[string]any{"code": "1"})).OperationID
		_ = session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriOf(others)}) // an error in one era, an empty stream in the other
		if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uriOf(own)}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { // of the era without sessions: the stream is opened beside the caller
			s.services.mu.Lock()
			w := s.services.byName["token:d"].watching
			s.services.mu.Unlock()
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.watched) == 1
		})
		engine.move(others, execution.StateApproved)
		engine.move(own, execution.StateApproved)
		if uri := <-told; uri != uriOf(own) {
			t.Errorf("%s: told of %s", era, uri)
		}
		_ = session.Close()
	}
}

func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	for !ready() {
		select {
		case <-t.Context().Done():
			t.Fatal("it never came to that")
		case <-time.After(time.Millisecond):
		}
	}
}
