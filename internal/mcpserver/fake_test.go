package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// scriptedEngine answers each code as its script says. Code without a line in
// the script runs until it is cancelled.
type scriptedEngine struct {
	script map[string]execution.Result
	output string // what Output reads

	mu        sync.Mutex // guards what follows
	requests  []execution.Request
	cancelled map[execution.ID]chan struct{}
	submitted chan execution.ID
}

func newEngine(script map[string]execution.Result) *scriptedEngine {
	return &scriptedEngine{
		script: script, cancelled: map[execution.ID]chan struct{}{}, submitted: make(chan execution.ID, 100),
	}
}

var errSecret = errors.New("open /home/operator/secret: permission denied")

func (e *scriptedEngine) Submit(_ context.Context, r execution.Request) (execution.ID, error) {
	switch {
	case r.Code == "panic":
		panic(errSecret)
	case r.Code == "fail":
		return "", errSecret
	case r.Code == "busy":
		return "", &execution.RejectedError{
			Code: execution.CodeUnavailable, Message: "260 executions are running or waiting already", RetryAfter: 2 * time.Second,
		}
	case r.Gear == "unknown":
		return "", &execution.RejectedError{Code: execution.CodeInvalidArgument, Field: "gear", Message: `there is no gear "unknown"`}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r)
	id := execution.ID(fmt.Sprintf("op_%d", len(e.requests)))
	e.cancelled[id] = make(chan struct{})
	e.submitted <- id
	return id, nil
}

func (e *scriptedEngine) find(id execution.ID) (execution.Request, chan struct{}, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, r := range e.requests {
		if id == execution.ID(fmt.Sprintf("op_%d", i+1)) {
			return r, e.cancelled[id], nil
		}
	}
	return execution.Request{}, nil, &execution.RejectedError{
		Code: execution.CodeNotFound, Field: "operation_id", Message: fmt.Sprintf("there is no operation %q", string(id)),
	}
}

func (e *scriptedEngine) Wait(ctx context.Context, _ execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	r, cancelled, err := e.find(id)
	if err != nil {
		return execution.Result{}, err
	}
	if r.Code == "fail later" {
		return execution.Result{}, errSecret
	}
	if res, ok := e.script[r.Code]; ok {
		res.OperationID = id
		return res, nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-cancelled:
		return cancelledResult(id), nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return execution.Result{Status: execution.StatusRunning, OperationID: id, ExitCode: -1, Stdout: "so far\n"}, nil
}

// WaitUnlessAsked is the same: nobody in the script is asked in the middle of a run.
func (e *scriptedEngine) WaitUnlessAsked(ctx context.Context, p execution.Principal, id execution.ID, d time.Duration) (execution.Result, error) {
	return e.Wait(ctx, p, id, d)
}

func (e *scriptedEngine) State(ctx context.Context, p execution.Principal, id execution.ID) (execution.State, error) {
	res, err := e.Wait(ctx, p, id, 0)
	switch {
	case err != nil:
		return "", err
	case res.Status.Final():
		return execution.StateFinished, nil
	case res.Status == execution.StatusPendingApproval:
		return execution.StatePending, nil
	}
	return execution.StateRunning, nil
}

func (e *scriptedEngine) Standing(ctx context.Context, p execution.Principal, id execution.ID) (execution.Standing, error) {
	state, err := e.State(ctx, p, id)
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	return execution.Standing{State: state, Created: at, Changed: at.Add(time.Second)}, err
}

func cancelledResult(id execution.ID) execution.Result {
	const reason = "Execution was cancelled."
	return execution.Result{
		Status: execution.StatusCancelled, OperationID: id, ExitCode: -1, Stderr: reason,
		Error: &execution.Error{Code: string(execution.CodeCancelled), Message: reason},
	}
}

func (e *scriptedEngine) Cancel(ctx context.Context, p execution.Principal, id execution.ID) (execution.Result, error) {
	r, cancelled, err := e.find(id)
	if err != nil {
		return execution.Result{}, err
	}
	if _, ended := e.script[r.Code]; ended {
		return e.Wait(ctx, p, id, 0)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-cancelled:
	default:
		close(cancelled)
	}
	return cancelledResult(id), nil
}

func (e *scriptedEngine) Output(_ context.Context, _ execution.Principal, id execution.ID, stream string, offset int64, most int) (execution.Chunk, error) {
	if _, _, err := e.find(id); err != nil {
		return execution.Chunk{}, err
	}
	rest := e.output[min(int(offset), len(e.output)):]
	part := rest[:min(most, len(rest))]
	return execution.Chunk{
		Stream: stream, Offset: offset, Data: part, NextOffset: offset + int64(len(part)), EOF: len(part) == len(rest),
	}, nil
}

type fixedEnvironment struct{}

func (fixedEnvironment) Info(context.Context, execution.Principal) (Info, error) {
	return Info{
		Python: "3.14.6", Gear: "user_confirmed", GearDescription: "computation runs, the rest asks",
		Languages: []execution.Language{execution.Python, execution.Bash}, WorkDir: "/workspace",
		Isolation: execution.LevelFull, Backend: "linux", Limits: execution.DefaultLimits(), Packages: 2,
	}, nil
}

func (fixedEnvironment) Packages(_ context.Context, query string) (PackageList, error) {
	l := PackageList{Python: "3.14.6"}
	for _, p := range []Package{
		{"numpy", "2.5.0", []string{"numpy"}},
		{"pillow", "13.0.0", []string{"PIL"}},
	} {
		if strings.Contains(p.Name, query) {
			l.Packages = append(l.Packages, p)
		}
	}
	return l, nil
}

func (fixedEnvironment) GearText(context.Context, execution.Principal) (string, error) {
	return "default: ask\n", nil
}

// brokenEnvironment fails whatever it is asked.
type brokenEnvironment struct{}

func (brokenEnvironment) Info(context.Context, execution.Principal) (Info, error) {
	return Info{}, errSecret
}

func (brokenEnvironment) Packages(context.Context, string) (PackageList, error) {
	return PackageList{}, errSecret
}

func (brokenEnvironment) GearText(context.Context, execution.Principal) (string, error) {
	return "", errSecret
}

// logBook is a log to look into. It is safe for concurrent use.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newServer(t testing.TB, c Config) (*Server, *logBook) {
	t.Helper()
	log := &logBook{}
	if c.Engine == nil {
		c.Engine = newEngine(nil)
	}
	if c.Records == nil {
		c.Records, _ = c.Engine.(Records)
	}
	if c.Records == nil {
		c.Records = newEngine(nil)
	}
	if c.Environment == nil {
		c.Environment = fixedEnvironment{}
	}
	c.Version = "0.0.0-test"
	c.Logger = slog.New(slog.NewJSONHandler(log, nil))
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
