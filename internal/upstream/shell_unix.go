//go:build unix

package upstream

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/gearbox-mcp/gearbox/internal/subprocess"
)

// pathMark stands around the PATH that a shell prints: profiles print, too.
const pathMark = "\x1egearbox\x1e"

// loginPath is the PATH that the user's login shell has; empty if it tells none in time.
// The shell is asked once.
func (s *searcher) loginPath(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, options := range []string{"-lc", "-ilc"} { // some set PATH only where it is interactive
		if !s.asked {
			s.login = joined(s.login, s.ask(ctx, options))
		}
	}
	s.asked = s.asked || ctx.Err() == nil
	return s.login
}

func (s *searcher) ask(ctx context.Context, options string) string {
	ctx, stop := context.WithTimeout(ctx, s.patience)
	defer stop()
	ours := s.environ()
	shell, _ := lookup(ours, "SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	c := exec.CommandContext(ctx, shell, options, `printf '\036gearbox\036%s\036gearbox\036' "$PATH"`)
	env := environment(ours, map[string]string{"SHELL": shell, "TERM": "dumb"})
	c.Env = list(env)
	c.Dir = os.TempDir()
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interactive one would take our terminal
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = drainTime
	out := &limited{max: maxReason}
	c.Stdout = out
	_ = subprocess.Run(c) // what it printed before it failed counts
	_, rest, _ := strings.Cut(out.String(), pathMark)
	path, _, ok := strings.Cut(rest, pathMark)
	if !ok {
		return ""
	}
	return path
}

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	max int
}

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), l.max-l.Len())])
	return len(p), nil
}
