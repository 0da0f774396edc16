package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
	"github.com/gearbox-mcp/gearbox/internal/token"
)

const tokenHelp = `Make, list and revoke the tokens by which clients come in over HTTP.

The holder of a token is a principal of its own: it sees its own operations alone, and
may do what the server's gear and the rights of the token both permit. Tokens are kept
in the data directory, as hashes. Servers that run see every change at once.`

func (a *app) tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "token", Short: "Make, list and revoke tokens for clients over HTTP", Long: tokenHelp, Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return c
}

const tokenCreateHelp = `Make a token and print it. It is shown this once: what is kept is its hash.

Clients send it in the header Authorization: Bearer TOKEN. NAME is how the record calls
the holder, as token:NAME, and can never be used again.

With --operator it is for a front end by which people answer what they are asked, at
/api/v1/approvals. It decides on the operations of everybody and runs nothing; an agent's
token does the opposite. Give it to no agent, and to no program that an agent can read.`

func (a *app) tokenCreateCommand() *cobra.Command {
	var o sidecar.Options
	var r token.Rights
	var languages []string
	var expires string
	var operator bool
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a token", Long: tokenCreateHelp, Args: oneName,
		RunE: func(c *cobra.Command, args []string) error {
			for flag, n := range map[string]int{"rate": r.Rate, "concurrency": r.Concurrency} {
				if c.Flags().Changed(flag) && n < 1 {
					return usage("leave it out for what the server says", "--%s %d: must be 1 or more", flag, n)
				}
			}
			for _, name := range languages {
				l, err := execution.ParseLanguage(name)
				if err != nil {
					return usage("", "--languages: %w", err)
				}
				r.Languages = append(r.Languages, l)
			}
			if operator {
				r.Role = token.Operator
			}
			at, err := expiry(expires, time.Now())
			if err != nil {
				return err
			}
			return a.tokenCreate(c.Context(), o, args[0], r, at)
		},
	}
	f := c.Flags()
	f.BoolVar(&operator, "operator", false, "for answering what people are asked, and for running nothing")
	f.StringVar(&r.Gear, "gear", "", "the ceiling, `NAME` of a gear: the stricter of it and the server's gear holds")
	f.StringSliceVar(&r.Tools, "tools", nil, "only these `TOOLS` may be called, separated by commas (default: all)")
	f.StringSliceVar(&languages, "languages", nil, "code may be in these `LANGUAGES` only, separated by commas (default: all)")
	f.IntVar(&r.Rate, "rate", 0, "start at most `N` executions a minute (default: as principal.rate of the server)")
	f.IntVar(&r.Concurrency, "concurrency", 0, "have at most `N` executions under way at once (default: as principal.concurrency of the server)")
	f.StringVar(&expires, "expires", "", "end by itself after `TIME`, such as 12h or 90d, or on a date, such as 2031-01-31 (default: never)")
	f.SortFlags = false
	addDataDir(c, &o)
	return c
}

// oneName takes the name of a token.
func oneName(c *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usage("for example: "+c.CommandPath()+" ci", "%s needs the name of a token", c.CommandPath())
	case 1:
		return nil
	}
	return usage("see "+c.CommandPath()+" --help", "%s takes one name, and not %q too", c.CommandPath(), args[1])
}

// expiry reads how long from now, or until when; zero for an empty text.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.Atoi(number); err == nil && days > 0 && days <= maxDays {
			return now.AddDate(0, 0, days), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	return time.Time{}, usage("write it as 12h, 90d, 2031-01-31 or 2031-01-31T18:00:00Z", "--expires %q is no time to come", text)
}

// maxDays keeps a date within what files can hold: a century.
const maxDays = 36_500

func (a *app) tokenCreate(ctx context.Context, o sidecar.Options, name string, r token.Rights, expires time.Time) error {
	secret, t, err := sidecar.CreateToken(ctx, o, asClient("token create"), name, r, expires)
	if err != nil {
		return failed(exitUsage, err)
	}
	a.printf("%s\n", secret)
	a.notef("this is the token of %s, shown this once; clients send it as: Authorization: Bearer TOKEN", t.Principal())
	return nil
}

func (a *app) tokenListCommand() *cobra.Command {
	var o sidecar.Options
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.tokenList(o, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	addDataDir(c, &o)
	return c
}

// listedToken is the form of --json.
type listedToken struct {
	token.Token

	Principal execution.Principal `json:"principal"`
	State     string              `json:"state"`
}

func (a *app) tokenList(o sidecar.Options, asJSON bool) error {
	register, err := sidecar.Tokens(o)
	if err != nil {
		return failed(exitFailed, err)
	}
	tokens, err := register.List()
	if err != nil {
		return failed(exitFailed, err)
	}
	all := []listedToken{}
	for _, t := range tokens {
		all = append(all, listedToken{t, t.Principal(), stateOf(t, time.Now())})
	}
	if asJSON {
		e := json.NewEncoder(a.Out)
		e.SetIndent("", "  ")
		return failed(exitFailed, e.Encode(map[string]any{"tokens": all}))
	}
	if len(all) == 0 {
		a.notef("there are no tokens; make one with gearbox token create NAME")
		return nil
	}
	return failed(exitFailed, a.printTokens(all))
}

func stateOf(t token.Token, now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Valid(now):
		return "expired"
	}
	return "valid"
}

func (a *app) printTokens(all []listedToken) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tSTATE\tCREATED\tEXPIRES\tLAST USED\tRIGHTS")
	for _, t := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.State, t.Created.Format(time.DateOnly),
			dateOr(t.Expires, "never"), dateOr(t.LastUsed, "never"), cmp.Or(rights(t.Rights), "all of the server's gear"))
	}
	return w.Flush()
}

func dateOr(t time.Time, otherwise string) string {
	if t.IsZero() {
		return otherwise
	}
	return t.Local().Format("2006-01-02 15:04")
}

// rights are in the words of the flags.
func rights(r token.Rights) string {
	var parts []string
	add := func(name, value string) {
		if value != "" && value != "0" {
			parts = append(parts, name+" "+value)
		}
	}
	languages := make([]string, 0, len(r.Languages))
	for _, l := range r.Languages {
		languages = append(languages, string(l))
	}
	if r.Role == token.Operator {
		return "answers what people are asked, runs nothing"
	}
	add("gear", r.Gear)
	add("tools", strings.Join(r.Tools, ","))
	add("languages", strings.Join(languages, ","))
	add("rate", fmt.Sprint(r.Rate))
	add("concurrency", fmt.Sprint(r.Concurrency))
	return strings.Join(parts, "; ")
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	var o sidecar.Options
	c := &cobra.Command{
		Use: "revoke NAME", Short: "Take a token back, at once and for good", Args: oneName,
		RunE: func(c *cobra.Command, args []string) error { return a.tokenRevoke(c.Context(), o, args[0]) },
	}
	addDataDir(c, &o)
	return c
}

func (a *app) tokenRevoke(ctx context.Context, o sidecar.Options, name string) error {
	t, err := sidecar.RevokeToken(ctx, o, asClient("token revoke"), name)
	switch {
	case errors.Is(err, token.ErrUnknown):
		return usage("gearbox token list names those that there are", "%w", err)
	case err != nil:
		return failed(exitFailed, err)
	}
	a.notef("the token %s is revoked since %s; running servers refuse it from now on", t.Name, t.Revoked.Format(time.RFC3339))
	return nil
}
