package cpython

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/subprocess"
)

// helpers are the programs of this package that interpreters run.
//
//go:embed helper/*.py
var helpers embed.FS

const (
	// maxOutput bounds what an interpreter may answer: the package list of a
	// large environment takes about 1 MiB.
	maxOutput = 8 << 20
	// runTime bounds a helper on a slow, busy machine.
	runTime = 60 * time.Second
)

// call is one run of a helper.
type call struct {
	executable string
	helper     string // file name below helper
	args       []string
	noSite     bool // leave the site packages out
	inherit    []*os.File
	timeout    time.Duration // zero for runTime
}

// run lets an interpreter run a helper in isolated mode and returns its output.
// The environment is empty but for what starting a process takes, as it is inside
// a sandbox: what does not run here would not run there.
func (c call) run(ctx context.Context) ([]byte, error) {
	source, err := helpers.ReadFile("helper/" + c.helper)
	if err != nil {
		return nil, fmt.Errorf("read the helper: %w", err)
	}
	flags := []string{"-I", "-B"}
	if c.noSite {
		flags = append(flags, "-S")
	}
	return c.command(ctx, append(append(flags, "-c", string(source)), c.args...))
}

func (c call) command(ctx context.Context, args []string) ([]byte, error) {
	timeout := c.timeout
	if timeout == 0 {
		timeout = runTime
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.executable, args...)
	cmd.Env = minimalEnvironment()
	cmd.Dir = os.TempDir() // exists, and is nobody's project
	cmd.ExtraFiles = c.inherit
	cmd.WaitDelay = time.Second // a grandchild may keep the pipes open
	out, errs := &bounded{most: maxOutput}, &bounded{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	err := subprocess.Run(cmd)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run %s: %w", c.executable, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("run %s: %w: %s", c.executable, err, lastLine(errs.buffer.String()))
	case out.overflow:
		return nil, fmt.Errorf("run %s: it wrote more than %d bytes", c.executable, maxOutput)
	}
	return out.buffer.Bytes(), nil
}

func minimalEnvironment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "LC_ALL=C.UTF-8")
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// bounded keeps the first bytes that are written to it and remembers that there
// were more. It takes everything, so that a writer never blocks. The buffer is not
// embedded: its ReadFrom, which io.Copy prefers, knows no bound.
type bounded struct {
	buffer   bytes.Buffer
	most     int
	overflow bool
}

var _ io.Writer = (*bounded)(nil)

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), b.most-b.buffer.Len())
	b.overflow = b.overflow || keep < len(p)
	_, err := b.buffer.Write(p[:keep])
	return len(p), err
}
