package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// codeStep is one step of the walk. Its error says what went wrong.
type codeStep struct {
	title string
	take  func(context.Context) error
}

// demoOrders is the file that the demo's program reads.
const demoOrders = "city,amount\nChicago,120.50\nNew York,80.00\nChicago,99.25\nLos Angeles,60.00\n"

// demoProgram is what a model would write after the first two steps. The path comes in as a
// variable.
const demoProgram = `from tools import everything, files, memory

totals = {}
for line in files.read_text_file(path=orders)["content"].splitlines()[1:]:
    city, amount = line.split(",")
    totals[city] = totals.get(city, 0) + float(amount)
best = max(totals, key=totals.get)
weather = everything.get_structured_content(location=best)
memory.create_entities(entities=[{
    "name": best, "entityType": "city",
    "observations": [f"orders of {totals[best]}", weather["conditions"]],
}])
{"best": best, "total": totals[best], "weather": weather["conditions"]}`

// steps walk from finding tools to the record of what was called. folder is what the server
// of files may read.
func (d *codeDemo) steps(folder string) []codeStep {
	return []codeStep{
		{"Find tools: the model asks for what it needs and reads a few lines, not every definition", func(ctx context.Context) error {
			_, text, err := d.call(ctx, "search_tools", map[string]any{"query": "read a text file", "limit": 4})
			return mentions(text, err, "read_text_file")
		}},
		{"Read the stub of a server", func(ctx context.Context) error {
			const uri = "tools://memory.pyi"
			d.app.printf("> resources/read %s\n", uri)
			r, err := d.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				return err
			}
			if len(r.Contents) != 1 {
				return fmt.Errorf("expected one text, got %d", len(r.Contents))
			}
			text := r.Contents[0].Text
			d.app.printf("%s", indent("< ", shorten(text)))
			return mentions(text, nil, "def create_entities")
		}},
		{"One script for three servers: what it reads stays in the sandbox, what changes something asks you", d.script(folder)},
		{"The effect: one call without a script, which only reads and asks nobody", func(ctx context.Context) error {
			_, text, err := d.call(ctx, "call_tool", map[string]any{"name": "memory.search_nodes", "arguments": map[string]any{"query": "Chicago"}})
			if d.refused {
				return mentions(text, err)
			}
			return mentions(text, err, "orders of 219.75")
		}},
		{"The record of it all", d.audit},
	}
}

// script runs the program. Whoever is at the terminal may say no, of which it learns.
func (d *codeDemo) script(folder string) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := d.asked(ctx, map[string]any{
			"code": demoProgram, "variables": map[string]any{"orders": folder + "/orders.csv"}, "wait_seconds": 600,
		})
		if err != nil {
			return err
		}
		r, err := structured(answer)
		switch {
		case err != nil:
			return err
		case d.refused:
			d.app.printf("You said no: nothing was stored, and the program was told.\n")
			return isOneOf(execution.StatusError)(r)
		case r.Status != execution.StatusOK:
			return fmt.Errorf("expected it to end well, got status %s: %s", r.Status, r.Stderr)
		case !strings.Contains(string(r.Value), "219.75"):
			return fmt.Errorf("expected a total of 219.75, got %s", r.Value)
		}
		return nil
	}
}

// mentions checks that a text says what it should.
func mentions(text string, err error, words ...string) error {
	if err != nil {
		return err
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			return errors.New("expected to read " + w)
		}
	}
	return nil
}
