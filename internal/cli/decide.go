package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/approval"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// decideFlags are what approve and deny are told.
type decideFlags struct {
	server  sidecar.Options // for its data directory
	always  bool
	hash    string
	yes     bool
	message string
	json    bool
}

func (a *app) approveCommand() *cobra.Command {
	var f decideFlags
	c := &cobra.Command{
		Use: "approve ID", Short: "Say yes to a question, once or for good", Args: someArguments(1, 1, "one operation id"),
		Long: "Say yes to a question. On a terminal it is shown first, and you are asked whether you\nmean it; scripts of yours say --yes. With --hash the yes counts only if what is asked\nis still what was shown.",
		RunE: func(c *cobra.Command, args []string) error {
			d := approval.Decision{Operation: execution.ID(args[0]), Verdict: execution.Approved, Scope: execution.Once, Client: asClient("approvals approve")}
			if f.always {
				d.Scope = execution.Always
			}
			return a.decide(c.Context(), f, d)
		},
	}
	c.Flags().BoolVar(&f.always, "always", false, "write the rules that allow the like into rules.yaml, too")
	c.Flags().StringVar(&f.hash, "hash", "", "only if the question has this `HASH`")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask whether this is meant")
	addDecision(c, &f)
	return c
}

func (a *app) denyCommand() *cobra.Command {
	var f decideFlags
	c := &cobra.Command{
		Use: "deny ID", Short: "Say no to a question", Args: someArguments(1, 1, "one operation id"),
		RunE: func(c *cobra.Command, args []string) error {
			f.yes = true // nothing happens after a no
			return a.decide(c.Context(), f, approval.Decision{
				Operation: execution.ID(args[0]), Verdict: execution.Refused, Message: f.message, Client: asClient("approvals deny"),
			})
		},
	}
	c.Flags().StringVar(&f.message, "message", "", "tell the model `TEXT`")
	addDecision(c, &f)
	return c
}

func addDecision(c *cobra.Command, f *decideFlags) {
	addJSON(c, &f.json)
	addDataDir(c, &f.server)
	c.Flags().SortFlags = false
}

// byTerminal names who sits at it, as far as the system knows.
func byTerminal() string {
	u, err := user.Current()
	switch {
	case err != nil:
		return "terminal"
	case u.Username == "":
		return "terminal:" + u.Uid
	}
	return "terminal:" + u.Username
}

func (a *app) decide(ctx context.Context, f decideFlags, d approval.Decision) error {
	if f.hash != "" {
		if err := d.Hash.UnmarshalText([]byte(f.hash)); err != nil {
			return usage("gearbox approvals show "+string(d.Operation)+" shows the hash", "--hash: %w", err)
		}
	}
	d.By = byTerminal()
	return withDecisions(ctx, f.server, func(_ sidecar.Records, ds sidecar.Decisions) error {
		r, err := ds.Find(ctx, d.Operation)
		if err != nil {
			return a.refused(f, d, err)
		}
		if f.hash == "" {
			d.Hash = r.Approval.Hash
		}
		hand := a.handIn
		switch {
		case r.State != execution.StatePending || d.Hash != r.Approval.Hash:
			// The desk refuses it: nobody is asked for anything before.
			hand = func(ctx context.Context, ds sidecar.Decisions, d approval.Decision) (sidecar.Told, error) {
				return ds.Decide(ctx, d)
			}
		case !f.yes:
			if err := a.confirm(ctx, f, ds, r); err != nil {
				return err
			}
		}
		told, err := hand(ctx, ds, d)
		if err != nil {
			return a.refused(f, d, err)
		}
		return a.decided(f, d, r, told)
	})
}

// confirm asks whether what is shown is meant.
func (a *app) confirm(ctx context.Context, f decideFlags, ds sidecar.Decisions, r execution.Record) error {
	t, err := openTerminal()
	if err != nil || f.json {
		return usage("say --yes in a script of yours, after gearbox approvals show "+string(r.ID), "nothing was decided: %w", errNoTerminal)
	}
	defer t.close()
	t.show(ds, r)
	question := "\nPermit this, once? [y/N] "
	if f.always {
		if _, err := sidecar.Lasting(r.Approval); err != nil {
			return failed(exitFailed, err)
		}
		question = "\nPermit this, and write these rules? [y/N] "
	}
	answer, err := t.ask(ctx, question)
	switch {
	case ctx.Err() != nil:
		return failed(exitCancelled, errUndecided)
	case err != nil && !errors.Is(err, io.EOF):
		return failed(exitFailed, err)
	case !means(answer, "yes"):
		return failed(exitFailed, errUndecided)
	}
	return nil
}

// errUndecided says that whoever was asked did not say yes.
var errUndecided = errors.New("nothing was decided")

// means reports whether an answer is a word, or its first letter.
func means(answer, word string) bool {
	answer = strings.ToLower(answer)
	return answer == word || answer == word[:1]
}

// show prints a question on the terminal.
func (t *terminal) show(d sidecar.Decisions, r execution.Record) {
	_, _ = io.WriteString(t.file, "\n")
	picture{w: t.file, columns: t.columns(), rulesFile: d.RulesFile()}.question(r, time.Now())
}

// decisionShown is the form of --json.
type decisionShown struct {
	Operation execution.ID      `json:"operation_id"`
	Decision  execution.Verdict `json:"decision,omitempty"`
	Scope     execution.Scope   `json:"scope,omitempty"`
	Rules     []string          `json:"rules,omitempty"` // that were written
	Missed    []string          `json:"not_told,omitempty"`
	Waits     bool              `json:"waits_for_server,omitempty"` // nobody who lives takes it up
	Gear      string            `json:"gear,omitempty"`             // of the server that it waits for
	Cause     approval.Cause    `json:"cause,omitempty"`            // why it does not count
	Error     string            `json:"error,omitempty"`
}

// refused tells why a decision was not taken, in the form that was asked for. Without a cause
// it is not the decision that is at fault.
func (a *app) refused(f decideFlags, d approval.Decision, err error) error {
	if !f.json {
		return notDecided(d.Operation, err)
	}
	shown := decisionShown{Operation: d.Operation, Error: err.Error()}
	var r *approval.RefusedError
	if errors.As(err, &r) {
		shown.Cause, shown.Error = r.Cause, r.Message
	}
	if err := a.printLine(shown); err != nil {
		return err
	}
	return exit(exitFailed)
}

// decided tells what was done.
func (a *app) decided(f decideFlags, d approval.Decision, r execution.Record, told sidecar.Told) error {
	if f.json {
		shown := decisionShown{Operation: d.Operation, Decision: d.Verdict, Scope: d.Scope, Rules: rulesOf(d, r), Missed: told.Missed}
		if unheard(d, told) {
			shown.Waits, shown.Gear = true, told.Gear
		}
		return a.printLine(shown)
	}
	a.printf("%s %s\n", d.Verdict, d.Operation)
	a.wrote(d, r, told)
	if unheard(d, told) {
		others := ""
		if told.Others {
			others = "the servers that run are in another gear; "
		}
		a.notef("recorded; %sit runs when a server of this data directory starts in the gear %s, before %s", others, visible.Line(told.Gear), clock(r.Approval.Expires))
	}
	return nil
}

// unheard reports whether nobody is there to run what was approved.
func unheard(d approval.Decision, told sidecar.Told) bool {
	return d.Verdict == execution.Approved && told.Unheard
}

// rulesOf are the rules that a decision wrote.
func rulesOf(d approval.Decision, r execution.Record) []string {
	if d.Scope != execution.Always {
		return nil
	}
	rules, _ := sidecar.Lasting(r.Approval) // they were written
	return rules
}

// wrote tells which rules there are now, and which servers could not be told.
func (a *app) wrote(d approval.Decision, r execution.Record, told sidecar.Told) {
	rules := rulesOf(d, r)
	for _, rule := range rules {
		a.notef("rules.yaml now has: allow %s", visible.Line(rule))
	}
	for _, why := range told.Missed {
		a.notef("not told: %s", why)
	}
	if rules != nil && len(told.Missed) > 0 {
		a.sayf("  hint: such a server takes the rules up after a SIGHUP or a restart\n")
	}
}

// choices are how a question is answered where several are put, or a program waits.
func choices(q *execution.Approval) string {
	always := "[a] always, "
	if _, err := sidecar.Lasting(q); err != nil {
		always = ""
	}
	return "[y] once, " + always + "[n] no, [m] no with a message"
}

// errSkipped says that no answer was given.
var errSkipped = errors.New("no answer was given")

// choose asks until an answer is one, and makes the decision of it. Without an answer it is
// [errSkipped].
func (t *terminal) choose(ctx context.Context, r execution.Record, skip bool) (approval.Decision, error) {
	d := approval.Decision{Operation: r.ID, Hash: r.Approval.Hash, Verdict: execution.Refused, By: byTerminal()}
	prompt := "\nPermit " + visible.Line(needs(r.Approval)) + "? " + choices(r.Approval)
	if skip {
		prompt += ", [s] later"
	}
	for {
		answer, err := t.ask(ctx, prompt+": ")
		switch {
		case errors.Is(err, io.EOF):
			return d, errSkipped
		case err != nil:
			return d, err
		case means(answer, "yes"), means(answer, "once"):
			d.Verdict, d.Scope = execution.Approved, execution.Once
			return d, nil
		case means(answer, "always"):
			if _, err := sidecar.Lasting(r.Approval); err != nil {
				_, _ = fmt.Fprintf(t.file, "%s\n", visible.Line(err.Error()))
				continue
			}
			d.Verdict, d.Scope = execution.Approved, execution.Always
			return d, nil
		case means(answer, "no"):
			return d, nil
		case means(answer, "message"):
			d.Message, err = t.message(ctx)
			return d, err
		case skip && (means(answer, "skip") || means(answer, "later")):
			return d, errSkipped
		}
	}
}

// message asks for the words that go with a no, until they are short enough. Without any end
// of the line it is [errSkipped]: who was about to say something has not said it.
func (t *terminal) message(ctx context.Context) (string, error) {
	for {
		text, err := t.ask(ctx, "The message to the model, at most "+strconv.Itoa(approval.MaxMessage)+" bytes: ")
		switch {
		case errors.Is(err, io.EOF):
			return "", errSkipped
		case err != nil:
			return "", err
		case len(text) <= approval.MaxMessage:
			return text, nil
		}
		_, _ = fmt.Fprintf(t.file, "These are %d bytes, and nothing was decided.\n", len(text))
	}
}
