//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// earlier are the entrants of the commit that this one is put beside. It has a data
// directory of its own: what either writes is not the other's to read.
func (b *bench) earlier(ctx context.Context) []entrant {
	binary, err := b.buildAt(ctx, b.beside)
	var all []entrant
	for _, era := range eras {
		open := func(ctx context.Context) (*mcp.ClientSession, int, error) {
			if err != nil {
				return nil, 0, err
			}
			return connect(ctx, era, binary, "serve", "--data-dir", filepath.Join(b.place, "beside"))
		}
		all = append(all, entrant{
			key: "mcp.beside." + era, name: fmt.Sprintf("%s, `execute` of `print(1)`, at commit %s", era, b.beside),
			open: executes(open, printCode, printAnswer),
		})
	}
	return all
}

// buildAt builds the binary of a commit from its own tree.
func (b *bench) buildAt(ctx context.Context, commit string) (string, error) {
	b.say("build gearbox at %s", commit)
	tree, err := os.MkdirTemp(b.scratch, "tree-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(b.place, "gearbox-beside")
	c := exec.CommandContext(ctx, "sh", "-c", `git archive "$1" | tar -x -C "$2" && cd "$2" && go build -trimpath -o "$3" ./cmd/gearbox`, "sh", commit, tree, binary)
	c.Dir = b.root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build gearbox at %s: %w\n%s", commit, err, out)
	}
	return binary, nil
}
