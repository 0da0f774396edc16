package web

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Operations tells how executions stand and ends them. It is safe for concurrent use.
// An error that is a *[execution.RejectedError] is shown to whoever asks; every other
// one is a failure of Gearbox and only logged.
type Operations interface {
	// Wait waits for the end, at most that long, and tells how the execution stands.
	Wait(context.Context, execution.Principal, execution.ID, time.Duration) (execution.Result, error)
	// Cancel returns when the whole process tree is gone. Cancelling what has ended
	// changes nothing.
	Cancel(context.Context, execution.Principal, execution.ID) (execution.Result, error)
}

// Lister lists the operations of a principal, the newest first: at most limit of them,
// and only those that were made before the one that is named, if one is.
type Lister interface {
	List(ctx context.Context, p execution.Principal, before execution.ID, limit int) ([]execution.Record, error)
}

// The bounds of a list.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// The tools of the protocol that do the same: who may not call the one may not use the
// other.
const (
	getTool    = "get_operation"
	cancelTool = "cancel_operation"
)

type api struct {
	operations Operations
	lister     Lister
	log        *slog.Logger
}

func (a *api) routes(mux handles) {
	mux.Handle("GET "+pathAPI+"operations", a.as(getTool, a.list, "limit", "before"))
	mux.Handle("GET "+pathAPI+"operations/{id}", a.as(getTool, a.get, "wait_seconds"))
	mux.Handle("POST "+pathAPI+"operations/{id}/cancel", a.as(cancelTool, a.cancel))
}

// as lets those answer who may call a tool, if the query has these parameters alone.
func (a *api) as(tool string, h func(http.ResponseWriter, *http.Request, execution.Principal) error, parameters ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := execution.CallerOf(r.Context())
		if !ok || !c.MayCall(tool) {
			fail(w, http.StatusForbidden, codeForbidden, "this token may not call "+tool)
			return
		}
		err := knows(r, parameters...)
		if err == nil {
			err = h(w, r, c.Principal)
		}
		if err != nil && rejected(w, err) {
			a.log.LogAttrs(r.Context(), slog.LevelError, "a request failed for a reason of our own",
				slog.String("path", r.URL.Path), slog.String("error", err.Error()))
		}
	})
}

// knows refuses a query with parameters that mean nothing here: they may be misspelt.
func knows(r *http.Request, parameters ...string) error {
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if !slices.Contains(parameters, name) {
			return malformed(name, "there is no such parameter of the query here")
		}
	}
	return nil
}

// operation is one line of a list.
type operation struct {
	ID       execution.ID       `json:"operation_id"`
	State    execution.State    `json:"state"`
	Status   execution.Status   `json:"status,omitempty"`
	Gear     string             `json:"gear"`
	Language execution.Language `json:"language"`
	Created  time.Time          `json:"created"`
	Finished time.Time          `json:"finished,omitzero"`
	ExitCode *int               `json:"exit_code,omitempty"`
	Client   string             `json:"client,omitempty"`
}

type operationList struct {
	Operations []operation `json:"operations"`
	// Next is the value of before for what follows; absent at the end.
	Next execution.ID `json:"next,omitempty"`
}

func (a *api) list(w http.ResponseWriter, r *http.Request, p execution.Principal) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	records, err := a.lister.List(r.Context(), p, execution.ID(r.URL.Query().Get("before")), limit)
	if err != nil {
		return err
	}
	l := operationList{Operations: []operation{}}
	for _, rec := range records {
		l.Operations = append(l.Operations, listed(rec))
	}
	if len(records) == limit {
		l.Next = records[limit-1].ID
	}
	reply(w, http.StatusOK, l)
	return nil
}

// limitOf is how many lines of a list are wanted.
func limitOf(r *http.Request) (int, error) {
	s := r.URL.Query().Get("limit")
	if s == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxLimit {
		return 0, malformed("limit", "must be a number from 1 to "+strconv.Itoa(maxLimit))
	}
	return n, nil
}

func listed(r execution.Record) operation {
	o := operation{
		ID: r.ID, State: r.State, Status: r.Result.Status, Gear: r.Gear, Language: r.Request.Language,
		Created: r.Created, Finished: r.Finished, Client: r.Request.Client.Name,
	}
	if r.State == execution.StateFinished {
		o.ExitCode = &r.Result.ExitCode
	}
	return o
}

func (a *api) get(w http.ResponseWriter, r *http.Request, p execution.Principal) error {
	var seconds *float64
	if s := r.URL.Query().Get("wait_seconds"); s != "" {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return &execution.RejectedError{Code: execution.CodeInvalidArgument, Field: "wait_seconds", Message: "must be a number"}
		}
		seconds = &n
	}
	wait, err := execution.WaitSeconds(seconds)
	if err != nil {
		return err
	}
	if seconds == nil {
		wait = 0
	}
	res, err := a.operations.Wait(r.Context(), p, execution.ID(r.PathValue("id")), wait)
	if err == nil {
		reply(w, http.StatusOK, res)
	}
	return err
}

// cancelTime bounds the killing of a process tree.
const cancelTime = 10 * time.Second

func (a *api) cancel(w http.ResponseWriter, r *http.Request, p execution.Principal) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), cancelTime)
	defer stop()
	res, err := a.operations.Cancel(ctx, p, execution.ID(r.PathValue("id")))
	if err == nil {
		reply(w, http.StatusOK, res)
	}
	return err
}
