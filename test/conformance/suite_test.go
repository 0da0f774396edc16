package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// limit ends a suite that hangs, which takes seconds otherwise.
const limit = 3 * time.Minute

// installed is the folder with the suites and Node, or skips the test.
func installed(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	for _, lock := range []string{"suites/package.json", "suites/package-lock.json"} {
		b, err := os.ReadFile(lock)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", ".cache", "clients", "conformance-"+hex.EncodeToString(h.Sum(nil))[:16]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		t.Skip("the official conformance suites are not installed (run test/clients/setup.sh)")
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "node")); err != nil {
		t.Skip("Node, which the official conformance suites need, is gone (run scripts/setup.sh)")
	}
	return dir
}

// check is what a suite writes about one thing that it looked at.
type check struct {
	ID, Status, ErrorMessage string
	SpecReferences           []struct{ ID string }
}

func (c check) passed() bool { return c.Status == "SUCCESS" }

// decides is false for a note that the suite made on its way.
func (c check) decides() bool { return c.Status != "INFO" }

func (c check) references() string {
	ids := make([]string, len(c.SpecReferences))
	for i, r := range c.SpecReferences {
		ids[i] = r.ID
	}
	return strings.Join(ids, ", ")
}

// outcome is the checks of each scenario that ran.
type outcome map[string][]check

type count struct{ scenarios, passed, failed, skipped int }

func (o outcome) count() count {
	n := count{scenarios: len(o)}
	for _, checks := range o {
		for _, c := range checks {
			switch {
			case c.passed():
				n.passed++
			case c.Status == "SKIPPED":
				n.skipped++
			case c.decides():
				n.failed++
			}
		}
	}
	return n
}

func (n count) String() string {
	return fmt.Sprintf("%2d scenarios: %3d checks passed, %2d failed, %d skipped", n.scenarios, n.passed, n.failed, n.skipped)
}

// on runs the suite against a server.
func (r run) on(t *testing.T, dir, url string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	results := t.TempDir()
	in := firstIn
	if r.suite == second {
		in = secondIn
	}
	args := append([]string{filepath.Join(dir, "node_modules", in, "dist", "index.js"), "server", "--url", url, "--output-dir", results}, r.arguments()...)
	c := exec.CommandContext(ctx, filepath.Join(dir, "bin", "node"), args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &said, &said, time.Second
	c.Env = []string{"HOME=" + results, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	err := c.Run()
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case err == nil:
	case !ok || exit.ExitCode() != 1:
		t.Errorf("%s: %v\n%s", strings.Join(c.Args, " "), errors.Join(err, ctx.Err()), &said)
	case r.plain == nil: // without fixtures it has to say so
		t.Error("the suite says that the server does not conform to the protocol")
	}
	done := read(t, results)
	for scenario := range done {
		if r.plain != nil && !slices.Contains(r.plain, scenario) {
			delete(done, scenario)
		}
	}
	return done
}

// folder is where a suite writes about a scenario.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func read(t *testing.T, results string) outcome {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	done := outcome{}
	for _, file := range files {
		name := folder.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			t.Fatalf("%s is of no scenario that can be told", file)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(b, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if _, twice := done[name[1]]; twice {
			t.Fatalf("scenario %s was run twice", name[1])
		}
		done[name[1]] = checks
	}
	return done
}
