//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func main() {
	sidecar.Reexec() // first: a sandbox process must not run any of what follows
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main, and everything was closed
	}
}

// options are the flags.
type options struct {
	only    *regexp.Regexp
	n       int
	gearbox string
	commit  string
	beside  string
	out     string
	save    string
}

// command runs the benchmark, or one of the servers that it measures against.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == noopRole {
		return serveNoop(ctx)
	}
	if len(args) > 0 && args[0] == callsRole {
		return serveCalls(ctx)
	}
	if len(args) > 0 && args[0] == noopHTTPRole {
		return serveNoopHTTP(ctx, stderr)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	b, err := open(ctx, o, stdout, stderr)
	if err != nil {
		return err
	}
	defer b.close()
	for _, g := range groups() {
		if !o.only.MatchString(g.name) {
			continue
		}
		b.say("%s: %s", g.name, g.about)
		if err := g.run(ctx, b); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.report.add(section{Title: g.about, Columns: []string{"what"}, Rows: [][]string{{"failed: " + reason(err)}}})
		}
	}
	return b.finish()
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	var quick bool
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&only, "only", "", "run the groups whose name matches the `REGEXP` and write no document; the groups: "+groupNames())
	fs.IntVar(&o.n, "n", 200, "laps of each entrant that is quick; slow ones take a part of it")
	fs.BoolVar(&quick, "quick", false, "a look: 30 laps, no document")
	fs.StringVar(&o.gearbox, "gearbox", "", "measure this `BINARY` over MCP instead of one built from the source")
	fs.StringVar(&o.commit, "commit", "", "what the binary was built from, if it is another `COMMIT`")
	fs.StringVar(&o.beside, "beside", "", "over MCP, let Gearbox as it was at `COMMIT` take turns with it")
	fs.StringVar(&o.out, "o", "", "write the document to `FILE` (default docs/benchmarks.md, nothing with -only or -quick)")
	fs.StringVar(&o.save, "save", "", "keep the figures in `FILE`, for the next document to stand beside")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, errors.New("there are no arguments, only flags: see -help")
	}
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	if quick {
		o.n = 30
	}
	if o.n < 1 {
		return o, errors.New("-n: at least one lap")
	}
	if o.out == "" && only == "" && !quick {
		o.out = document
	}
	return o, nil
}
