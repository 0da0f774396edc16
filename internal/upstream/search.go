package upstream

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// searcher finds programs. A process that a desktop started has a short PATH: what the
// user installed is where the user's login shell finds it.
type searcher struct {
	environ func() []string

	patience time.Duration // with the login shell

	mu    sync.Mutex // guards what follows, and is held while the shell is asked
	asked bool
	login string // PATH of the login shell; empty if it told none
}

// found is a program, and the PATH with which it finds its own: npx starts node.
type found struct{ program, path string }

// find looks for the program of a command. env is the environment that it will have.
func (s *searcher) find(ctx context.Context, command, dir string, env map[string]string) (found, error) {
	path := env["PATH"]
	if strings.ContainsAny(command, separators()) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		program, ok := executable(command, env["PATHEXT"])
		if !ok {
			return found{}, fmt.Errorf("the program %s does not exist or cannot be executed", command)
		}
		return absolute(program, path)
	}
	if program, ok := inPath(command, path, env["PATHEXT"]); ok {
		return absolute(program, path)
	}
	login := s.loginPath(ctx)
	if program, ok := inPath(command, login, env["PATHEXT"]); ok {
		return absolute(program, joined(path, login))
	}
	return found{}, fmt.Errorf("the program %s is not installed where it can be found: %s. Searched %q%s", command, howToGet(command), path, also(login))
}

func also(login string) string {
	if login == "" {
		return ""
	}
	return fmt.Sprintf(" and the PATH of your login shell, %q", login)
}

// absolute has a program find what lies beside it.
func absolute(program, path string) (found, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return found{}, fmt.Errorf("find %s: %w", program, err)
	}
	return found{program, joined(path, filepath.Dir(program))}, nil
}

// joined adds the folders of one PATH to another that has not got them.
func joined(path, more string) string {
	have := map[string]bool{}
	var all []string
	for _, p := range append(filepath.SplitList(path), filepath.SplitList(more)...) {
		if p != "" && !have[p] {
			have[p] = true
			all = append(all, p)
		}
	}
	return strings.Join(all, string(filepath.ListSeparator))
}

func separators() string {
	if runtime.GOOS == "windows" {
		return `/\:`
	}
	return "/"
}

// inPath looks in the folders of a PATH. A relative one is passed over: it would mean
// another program in every folder from which we are started.
func inPath(command, path, extensions string) (string, bool) {
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if program, ok := executable(filepath.Join(folder, command), extensions); ok {
			return program, true
		}
	}
	return "", false
}

// executable is a file that can be run. On Windows npx is npx.cmd.
func executable(name, extensions string) (string, bool) {
	if runtime.GOOS != "windows" {
		return name, runnable(name, 0o111)
	}
	if extensions == "" {
		extensions = ".COM;.EXE;.BAT;.CMD"
	}
	for _, e := range strings.Split(extensions, ";") {
		if e != "" && strings.EqualFold(filepath.Ext(name), e) && runnable(name, 0) {
			return name, true
		}
	}
	for _, e := range strings.Split(extensions, ";") {
		if e != "" && runnable(name+e, 0) {
			return name + e, true
		}
	}
	return "", false
}

func runnable(name string, mode fs.FileMode) bool {
	i, err := os.Stat(name)
	return err == nil && i.Mode().IsRegular() && (mode == 0 || i.Mode()&mode != 0)
}

// howToGet says where a program comes from.
func howToGet(program string) string {
	switch strings.TrimSuffix(program, ".cmd") {
	case "npx", "npm", "node":
		return "install Node.js (https://nodejs.org), which brings it"
	case "uvx", "uv":
		return "install uv (https://docs.astral.sh/uv/), which brings it"
	case "docker":
		return "install Docker (https://docs.docker.com/get-docker/) and start it"
	case "python", "python3", "pip", "pipx":
		return "install Python (https://www.python.org), or name the interpreter by its whole path"
	case "bun", "bunx":
		return "install Bun (https://bun.sh), which brings it"
	case "deno":
		return "install Deno (https://deno.com)"
	}
	return "install it, or name it by its whole path"
}
