package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/instance"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// Status is how one running Gearbox stands: what it says of itself.
type Status struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Uptime is in seconds.
	Uptime float64 `json:"uptime_seconds"`
	// Transport is how requests come in.
	Transport Transport `json:"transport"`
	// Addresses are where clients reach it over HTTP: URLs, and paths of sockets.
	Addresses []string `json:"addresses,omitempty"`
	Gear      string   `json:"gear"`
	// Isolation is the level of the fork server used last, empty while none is open.
	Isolation execution.Level `json:"isolation"`
	Load      engine.Load     `json:"load"`
	Pools     []PoolStatus    `json:"pools"`
	// Servers are the other MCP servers whose tools programs may call.
	Servers []ServerStatus `json:"servers,omitempty"`
}

// PoolStatus is how the pool of one backend stands: what is shown and what is counted
// are read from the same.
type PoolStatus = telemetry.PoolStatus

// Transport is how requests come to a process.
type Transport string

// The transports. Commands that look at something and end are no transport, and say
// their own names.
const (
	TransportStdio   Transport = "stdio"
	TransportHTTP    Transport = "http"
	TransportExec    Transport = "exec"
	TransportDoctor  Transport = "doctor"
	TransportExplain Transport = "gear explain"
)

// serves reports whether a client is answered, rather than one command carried out.
func (t Transport) serves() bool { return t == TransportStdio || t == TransportHTTP }

// statusPath is where an instance tells its [Status].
const statusPath = "/status"

// answer opens the socket by which other commands ask this process. Programs run
// without it too.
func (s *Sidecar) answer(ctx context.Context, l *slog.Logger) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusPath, func(w http.ResponseWriter, _ *http.Request) { instance.Reply(w, s.status()) })
	mux.HandleFunc("POST "+cancelPath, s.handleCancel)
	mux.HandleFunc("POST "+approvedPath, s.handleApproved)
	err := s.instance.Answer(ctx, mux, l)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		l.Info("gearbox status cannot ask this process", "reason", err)
	case err != nil:
		l.Warn("gearbox status cannot ask this process", "error", err)
	}
}

// self is what a status says from the start to the end.
func self(o Options, version string) Status {
	return Status{PID: os.Getpid(), Version: version, Started: time.Now(), Transport: o.Transport}
}

func (s *Sidecar) status() Status {
	st := s.self
	st.Gear = s.gears.base().Name()
	if a := s.addresses.Load(); a != nil {
		st.Addresses = *a
	}
	st.Uptime, st.Load, st.Pools = time.Since(st.Started).Seconds(), s.engine.Load(), s.places.pools()
	st.Servers = s.serverStatuses()
	for _, p := range st.Pools {
		for _, t := range p.Templates {
			st.Isolation = cmp.Or(st.Isolation, t.Level)
		}
	}
	return st
}

// pools are those that the server's own gear can use, or that were used.
func (p *places) pools() []PoolStatus {
	all := []PoolStatus{}
	if p.boxed != nil {
		all = append(all, PoolStatus{Backend: p.backend.Name(), Stats: p.boxed.Stats()})
	}
	if p.bare != nil {
		if s := p.bare.Stats(); s.Opened > 0 {
			all = append(all, PoolStatus{Backend: bareName, Stats: s})
		}
	}
	return all
}

// Report is what came of asking one living instance.
type Report struct {
	Instance instance.ID `json:"instance"`
	// PID is 0 where it is not known.
	PID int `json:"pid"`
	// Status is nil when it did not answer, and Problem says why.
	Status  *Status `json:"status,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// answerTime is how long an instance may take to answer. It takes about a millisecond;
// one that is stopped takes for ever.
const answerTime = 2 * time.Second

// Instances asks every living process of the data directory how it stands, all at
// once, those that started first first. One that does not answer is in the list too.
func Instances(ctx context.Context, o Options) (dataDir string, reports []Report, err error) {
	if dataDir, err = o.dataDir(); err != nil {
		return "", nil, err
	}
	live, err := instance.Live(dataDir)
	if err != nil {
		return dataDir, nil, err
	}
	answers := make([]*Report, len(live))
	var asking sync.WaitGroup
	for i, m := range live {
		asking.Go(func() { answers[i] = ask(ctx, m) })
	}
	asking.Wait()
	reports = []Report{}
	for _, r := range answers {
		if r != nil {
			reports = append(reports, *r)
		}
	}
	slices.SortStableFunc(reports, func(a, b Report) int { return a.since().Compare(b.since()) })
	return dataDir, reports, ctx.Err()
}

// since is when the instance started, as far as it said so.
func (r Report) since() time.Time {
	if r.Status == nil {
		return time.Time{}
	}
	return r.Status.Started
}

// ask is nil when the instance ended meanwhile.
func ask(ctx context.Context, m instance.Member) *Report {
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	r := &Report{Instance: m.ID, PID: m.ID.PID()}
	var s Status
	err := m.Get(ctx, statusPath, &s)
	switch {
	case err == nil:
		r.PID, r.Status = s.PID, &s
	case errors.Is(err, instance.ErrGone):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		r.Problem = fmt.Sprintf("it did not answer within %v", answerTime)
	case errors.Is(err, instance.ErrNoSocket):
		r.Problem = err.Error() + ": it is just starting, or it could not make one, and its log says why"
	default:
		r.Problem = err.Error()
	}
	return r
}

// bareName is what the backend without isolation is called in answers.
const bareName = "host"
