package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/approval/credential"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gateway"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/logging"
	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth"
	"github.com/gearbox-mcp/gearbox/internal/upstream/serverfile"
)

// Upstreams are the configured servers for the operator's commands: sessions with those
// that are needed, and their tools as programs see them. Nothing can be called by it. Close
// ends it.
type Upstreams struct {
	serverfile.Config

	fleet   *upstream.Fleet
	gateway *gateway.Gateway
	records *store.SQLite
	journal telemetry.Journal
	guard   *credential.File
	places  *places // nil where no server runs in a sandbox
}

// OpenUpstreams reads the configuration and starts nothing yet.
func OpenUpstreams(ctx context.Context, o Options, version string, l *slog.Logger) (u *Upstreams, err error) {
	dir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	if err := makeDataDir(dir); err != nil {
		return nil, err
	}
	u = &Upstreams{guard: o.guard(dir)}
	if u.Config, err = o.configured(dir); err != nil {
		return nil, err
	}
	masks, err := logging.NewRedactor(o.Redact)
	if err != nil {
		return nil, err
	}
	if u.records, err = store.Open(ctx, store.Options{Dir: dir, Version: version}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.Close())
		}
	}()
	u.journal = telemetry.Redacted(u.records, masks)
	specs := lazy(u.Servers)
	launcher, err := u.launcher(ctx, o, dir, specs, l)
	if err != nil {
		return u, err
	}
	if u.fleet, err = upstream.New(specs, upstream.Options{
		Logger: l, Redactor: masks, Version: version, Vault: oauth.Open(dir), Launcher: launcher, OnChange: func(name string) { u.gateway.Changed(name) },
	}); err != nil {
		return u, err
	}
	if u.gateway, err = gateway.New(gateway.Config{Servers: u.fleet, Pins: u.records, Specs: specs, Logger: l}); err != nil {
		return u, err
	}
	u.fleet.Start(ctx)
	return u, nil
}

// launcher is for the servers that run in a sandbox. Only for them is one prepared.
func (u *Upstreams) launcher(ctx context.Context, o Options, dir string, specs []upstream.Spec, l *slog.Logger) (upstream.Launcher, error) {
	if !slices.ContainsFunc(specs, func(s upstream.Spec) bool { return s.Sandbox != nil }) {
		return nil, nil //nolint:nilnil // nothing needs one
	}
	var err error
	nothing := func() gear.Frozen { return gear.Frozen{} } // no program is run
	if u.places, err = newPlaces(ctx, o, dir, nothing, l, nil); err != nil {
		return nil, err
	}
	return newBoxes(u.places, u.journal, dir, specs), nil
}

// lazy are the servers, each started when it is needed.
func lazy(servers []upstream.Spec) []upstream.Spec {
	specs := make([]upstream.Spec, 0, len(servers))
	for _, s := range servers {
		s.Lazy = true
		specs = append(specs, s)
	}
	return specs
}

// Close ends the sessions.
func (u *Upstreams) Close() error {
	var err error
	if u.fleet != nil {
		err = u.fleet.Close()
	}
	if u.places != nil {
		err = errors.Join(err, u.places.close())
	}
	return errors.Join(err, u.records.Close())
}

// Named is a server by its name. The error names the one that was probably meant.
func (u *Upstreams) Named(name string) (upstream.Spec, error) { return configuredAs(u.Servers, name) }

func configuredAs(servers []upstream.Spec, name string) (upstream.Spec, error) {
	var names []string
	for _, s := range servers {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	err := fmt.Errorf("%w: %q", upstream.ErrUnknown, name)
	switch near := policy.Nearest(name, names); {
	case near != "":
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	case len(names) > 0:
		err = fmt.Errorf("%w; there are %s", err, strings.Join(names, ", "))
	}
	return upstream.Spec{}, err
}

// Tested is what came of starting a server.
type Tested struct {
	upstream.Status

	Took time.Duration
}

// Test starts servers at once and tells of each, in their order, how that went.
func (u *Upstreams) Test(ctx context.Context, names []string) ([]Tested, error) {
	all := make([]Tested, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		work.Go(func() {
			began := time.Now()
			_, err := u.fleet.Server(ctx, name)
			var late *upstream.UnavailableError
			if errors.As(err, &late) && late.State == upstream.Starting {
				_, _ = u.fleet.Server(ctx, name) // it is just giving up, and will say why
			}
			all[i].Took = time.Since(began)
		})
	}
	work.Wait()
	for _, s := range u.fleet.Servers() {
		for i, name := range names {
			if s.Name == name {
				all[i].Status = s
			}
		}
	}
	return all, ctx.Err()
}

// Missing are the servers that could not be reached so far.
func (u *Upstreams) Missing() []upstream.Status {
	var all []upstream.Status
	for _, s := range u.fleet.Servers() {
		if s.State == upstream.Failed || s.State == upstream.Starting {
			all = append(all, s)
		}
	}
	return all
}

// Tools shows the tools of a server, or of all with an empty name, see [gateway.Gateway.List].
func (u *Upstreams) Tools(ctx context.Context, server, detail string) (string, error) {
	return u.gateway.List(ctx, server, detail)
}

// Changes are the tools of a server that changed since they were accepted.
func (u *Upstreams) Changes(ctx context.Context, server string) ([]gateway.Change, error) {
	return u.gateway.Changes(ctx, server)
}

// Credential is what accepting needs, as every decision does.
func (u *Upstreams) Credential() (credential.Kind, error) { return u.guard.Kind() }

// Accept has changed definitions be the accepted ones, once that is recorded.
func (u *Upstreams) Accept(ctx context.Context, changes []gateway.Change, proof string, by execution.Client) error {
	if err := u.guard.Check(ctx, proof); err != nil {
		return err
	}
	var events []audit.Event
	for _, c := range changes {
		events = append(events, audit.Event{
			Time: time.Now(), Type: audit.Config, Principal: execution.Local, Client: by, Decision: "taken",
			Permission: policy.Permission{Kind: policy.Tool, Target: c.Now.ID()}.String(),
			Reason:     "the operator accepted a changed definition",
			Details:    map[string]string{"definition": c.Pin.String(), "definition_before": c.Before.String()},
		})
	}
	if err := u.journal.Record(ctx, events...); err != nil {
		return fmt.Errorf("record what is accepted: %w", err)
	}
	return u.gateway.Accept(ctx, changes...)
}

// LogIn has the operator log in to a configured server; show opens or prints the address.
func LogIn(ctx context.Context, o Options, name string, show func(address string) error) error {
	s, vault, err := loginOf(o, name)
	if err != nil {
		return err
	}
	return upstream.Authorize(ctx, s, vault, show)
}

// LogOut removes the login for a configured server. The error is [oauth.ErrNone] when there
// is none.
func LogOut(ctx context.Context, o Options, name string) error {
	s, vault, err := loginOf(o, name)
	if err != nil {
		return err
	}
	return upstream.Forget(ctx, s, vault)
}

func loginOf(o Options, name string) (upstream.Spec, *oauth.Vault, error) {
	dir, err := o.dataDir()
	if err != nil {
		return upstream.Spec{}, nil, err
	}
	if err := makeDataDir(dir); err != nil {
		return upstream.Spec{}, nil, err
	}
	c, err := o.configured(dir)
	if err != nil {
		return upstream.Spec{}, nil, err
	}
	s, err := configuredAs(c.Servers, name)
	return s, oauth.Open(dir), err
}

// ServerStatus is how the session of one process with one configured server stands.
type ServerStatus struct {
	Name      string             `json:"name"`
	Transport upstream.Transport `json:"transport"`
	State     upstream.State     `json:"state"`
	Reason    string             `json:"reason,omitempty"`
	Since     time.Time          `json:"since"`
	Tools     int                `json:"tools"`
	Restarts  int                `json:"restarts"`
	// Version is the server's own word.
	Version string   `json:"version,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// serverStatuses tell how the sessions with other servers stand.
func (s *Sidecar) serverStatuses() []ServerStatus {
	var all []ServerStatus
	for _, u := range s.Upstreams() {
		all = append(all, ServerStatus{
			Name: u.Name, Transport: u.Transport, State: u.State, Reason: u.Reason, Since: u.Since,
			Tools: u.Tools, Restarts: u.Restarts, Version: u.Version, Notes: u.Notes,
		})
	}
	return all
}
