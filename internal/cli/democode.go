package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// codeDemo is one walk through code mode.
type codeDemo struct {
	app      *app
	terminal *terminal // nil with --yes
	options  sidecar.Options
	session  *mcp.ClientSession
	began    time.Time
	refused  bool // somebody at the terminal said no
	wrong    int
}

// demoCode shows code mode with reference servers, on a data directory of its own unless
// one is named: what these servers offer is then not taken for what others of those names do.
func (a *app) demoCode(ctx context.Context, o sidecar.Options, yes bool) error {
	d := &codeDemo{app: a, options: o, began: time.Now()}
	if !yes {
		if d.terminal = a.terminalOf(false); d.terminal == nil {
			return usage("--yes has this command play the operator, who says yes", "nothing was started: the demo asks about a call, and %w", errNoTerminal)
		}
		defer d.terminal.close()
	}
	place, err := os.MkdirTemp("", "gearbox-demo-")
	if err != nil {
		return failed(exitFailed, err)
	}
	defer func() { _ = os.RemoveAll(place) }() // it is in the folder that the system clears
	if place, err = filepath.EvalSymlinks(place); err != nil {
		return failed(exitFailed, err)
	}
	if d.options.DataDir == "" {
		d.options.DataDir = filepath.Join(place, "data")
	}
	folder, config, err := a.demoServers(place)
	if err != nil {
		return failed(exitFailed, err)
	}
	args := []string{"--gear", sidecar.DefaultGear, "--data-dir", d.options.DataDir, "--mcp-servers", config}
	if o.Python != "" {
		args = append(args, "--python", o.Python)
	}
	flags, err := parseServeFlags(args)
	if err != nil {
		return err
	}
	entry, err := entryFor(append([]string{"serve"}, flags...))
	if err != nil {
		return failed(exitFailed, err)
	}
	if d.session, err = a.connect(ctx, entry); err != nil {
		return failed(exitFailed, err)
	}
	d.walk(ctx, folder)
	if err := d.session.Close(); err != nil {
		a.notef("end the server: %v", err)
		d.wrong++
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.wrong > 0 {
		a.printf("\n%d of the steps went wrong. What this machine lacks: gearbox doctor\n", d.wrong)
		return exit(exitFailed)
	}
	a.farewell(entry)
	a.printf("\nThe servers that your client knows come with: gearbox upstream import --help\n")
	return nil
}

// walk takes the steps until one leaves no session to go on with.
func (d *codeDemo) walk(ctx context.Context, folder string) {
	for i, s := range d.steps(folder) {
		d.app.printf("\n--- %d. %s\n", i+1, s.title)
		if err := s.take(ctx); err != nil {
			d.app.printf("WRONG: %v\n", err)
			d.wrong++
			if ctx.Err() != nil {
				return
			}
			continue
		}
		d.app.printf("ok\n")
	}
}

// call shows one call of a tool and its answer, as a model would have them.
func (d *codeDemo) call(ctx context.Context, name string, arguments map[string]any) (*mcp.CallToolResult, string, error) {
	said := map[string]any{}
	for key, v := range arguments {
		if key != "code" {
			said[key] = v
		}
	}
	rest, err := json.Marshal(said)
	if err != nil {
		return nil, "", err
	}
	d.app.printf("> %s %s\n", name, rest)
	if code, ok := arguments["code"].(string); ok {
		d.app.printf("%s", indent("> ", code))
	}
	r, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return nil, "", err
	}
	text := textOf(r)
	d.app.printf("%s", indent("< ", shorten(text)))
	return r, text, nil
}

// asked runs a program of which a call is asked about meanwhile.
func (d *codeDemo) asked(ctx context.Context, arguments map[string]any) (*mcp.CallToolResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	desk := make(chan error, 1)
	go func() {
		err := withDecisions(ctx, d.options, func(_ sidecar.Records, ds sidecar.Decisions) error {
			return watch(ctx, ds, func(ctx context.Context, r execution.Record) error { return d.decide(ctx, ds, r.ID) })
		})
		if err != nil {
			stop() // nobody will answer
		}
		desk <- err
	}()
	r, _, err := d.call(ctx, "execute", arguments)
	stop()
	if lost := <-desk; lost != nil {
		return nil, lost
	}
	return r, err
}

// decide answers a question as gearbox approvals does: it is recorded, and the server told.
func (d *codeDemo) decide(ctx context.Context, ds sidecar.Decisions, id execution.ID) error {
	r, err := ds.Find(ctx, id)
	if err != nil {
		return err
	}
	decision := approval.Decision{Operation: r.ID, Hash: r.Approval.Hash, Verdict: execution.Approved, Scope: execution.Once, By: byTerminal()}
	if d.terminal == nil {
		d.app.printf("\n")
		d.app.pictureOn(ds).question(r, time.Now())
		d.app.printf("\n--yes: this command plays the operator and says yes, once\n")
	} else {
		decision, err = d.terminal.decide(ctx, ds, r, false)
		switch {
		case errors.Is(err, errSkipped):
			decision.Verdict, decision.Scope = execution.Refused, ""
		case errors.Is(err, errSettled):
			return nil
		case err != nil:
			return err
		}
	}
	d.refused = d.refused || decision.Verdict == execution.Refused
	decision.Client = asClient("demo")
	told, err := d.app.handIn(ctx, ds, decision)
	if err != nil {
		return err
	}
	return d.app.decided(decideFlags{}, decision, r, told)
}

// audit prints what was recorded since the demo began, and checks that the calls are there.
func (d *codeDemo) audit(ctx context.Context) error {
	calls := map[string]bool{}
	d.app.printf("$ gearbox audit list\n")
	err := withRecords(ctx, d.options, func(r sidecar.Records) error {
		head, err := r.Head(ctx)
		if err != nil {
			return err
		}
		f := eventFilter{since: timeFlag{Time: d.began}, limit: 1000}
		events, err := f.last(r.Latest(ctx, head.Seq+1))
		if err != nil {
			return err
		}
		for _, entry := range events {
			if e, err := entry.Event(); err == nil && e.Type == audit.ToolCall && e.Status == execution.StatusOK {
				calls[e.Permission] = true
			}
		}
		return d.app.printEvents(events, false)
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"tool(files.read_text_file)", "tool(everything.get-structured-content)", "tool(memory.create_entities)"} {
		if !calls[name] && !d.refused {
			return fmt.Errorf("the record has no call %s that went well", name)
		}
	}
	d.app.printf("\n$ gearbox audit verify\n")
	report, err := d.app.auditVerify(ctx, d.options, nil, nil)
	return d.app.verified(report, err, false)
}
