//go:build linux

package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

// kinds are the reports by number and name. Each has at least one trial, and
// each trial one of these.
var kinds = []string{
	"01 OUT-BIG", "02 OUT-INF", "03 OUT-UTF8", "04 OUT-LOCALE", "05 OUT-STDERR", "06 OUT-ANSI", "07 OUT-PROTO", "08 OUT-ORDER",
	"09 EXIT", "10 TMO-WEDGE", "11 BG-PIPE", "12 FORKBOMB", "13 ZOMBIE", "14 STARVE", "15 OOM", "16 STDIN", "17 FD", "18 CONC",
	"19 MAIN", "20 SCOPE", "21 ASYNC", "22 TEXT", "23 HOME", "24 LIBS",
}

// trial is one program and the answer that is right for it.
type trial struct {
	name string
	call call
	want want
}

// want is a whole answer: what it does not name has to be absent from the answer.
type want struct {
	status string // "" is ok
	exit   int
	signal string

	stdout, stderr       string   // exactly
	stdoutHas, stderrHas []string // or these parts, in this order

	value, valueType string // the value as JSON; anyValue leaves it to then
	code             string // error.code
	message          []string

	truncated map[string]int64 // the total by stream, 0 where it depends on the moment
	lossy     bool
	warnings  []string // a part of each
	perhaps   string   // a part of a warning that depends on the moment

	then func(*testing.T, answer)
}

// TestReportsAgainstPeers runs every table against one server.
func TestReportsAgainstPeers(t *testing.T) {
	c := connect(t, "--data-dir", cpythontest.DataDir(t))
	sandboxed(t, c)
	tables := []map[string][]trial{output(), endings(), bounds(), streams(), semantics(), texts(), shells()}
	bash := c.execute(t, call{Code: "true", Language: "bash"})
	t.Run("kinds", func(t *testing.T) {
		for _, table := range tables {
			for kind, trials := range table {
				for _, tr := range trials {
					t.Run(kind+"/"+tr.name, func(t *testing.T) {
						t.Parallel()
						if tr.call.Language == "bash" && bash.Error != nil && bash.Error.Code == "UNAVAILABLE" {
							t.Skipf("skipped: no bash: %s", bash.Error.Message)
						}
						tr.run(t, c)
					})
				}
			}
		}
	})
	if a := c.execute(t, call{Code: "print(1)"}); a.Status != "ok" || a.Stdout != "1\n" {
		t.Errorf("after all that, print(1) answers %s", a.raw)
	}
}

func TestEveryKindHasATrial(t *testing.T) {
	tried := append(apart(), "24 LIBS")
	for _, table := range []map[string][]trial{output(), endings(), bounds(), streams(), semantics(), texts(), shells()} {
		for kind, trials := range table {
			if !slices.Contains(kinds, kind) {
				t.Errorf("%q is not a kind", kind)
			}
			if len(trials) > 0 {
				tried = append(tried, kind)
			}
		}
	}
	for _, kind := range kinds {
		if !slices.Contains(tried, kind) {
			t.Errorf("%s is never tried", kind)
		}
	}
}

// sandboxed skips where the machine has no sandbox, and says what the server said.
func sandboxed(t *testing.T, c *client) {
	t.Helper()
	a := c.execute(t, call{Code: "1"})
	if a.Error != nil && a.Error.Code == "UNAVAILABLE" {
		t.Skipf("skipped: no sandbox here: %s", a.Error.Message)
	}
	if a.Status != "ok" {
		t.Fatalf("1 answers %s", a.raw)
	}
	c.always = a.Warnings
}

func (tr trial) run(t *testing.T, c *client) {
	a := c.execute(t, tr.call)
	tr.want.check(t, a)
	if t.Failed() {
		t.Logf("code:\n%.600s\nanswer:\n%.3000s", tr.call.Code, a.raw)
	}
}

func (w want) check(t *testing.T, a answer) {
	t.Helper()
	conforms(t, a)
	if w.status == "" {
		w.status = "ok"
	}
	equal(t, "status", a.Status, w.status)
	equal(t, "exit_code", a.ExitCode, w.exit)
	equal(t, "signal", a.Signal, w.signal)
	stream(t, "stdout", a.Stdout, w.stdout, w.stdoutHas)
	stream(t, "stderr", a.Stderr, w.stderr, w.stderrHas)
	equal(t, "lossy", a.Lossy, w.lossy)
	w.checkValue(t, a)
	w.checkError(t, a)
	w.checkTruncated(t, a)
	w.checkWarnings(t, a)
	if w.then != nil {
		w.then(t, a)
	}
}

const anyValue = "any"

func (w want) checkValue(t *testing.T, a answer) {
	t.Helper()
	equal(t, "value_type", a.ValueType, w.valueType)
	if w.value == anyValue {
		return
	}
	var got, expected any
	if a.Value != nil {
		if err := json.Unmarshal(a.Value, &got); err != nil {
			t.Errorf("value: %v", err)
		}
	}
	if w.value != "" {
		if err := json.Unmarshal([]byte(w.value), &expected); err != nil {
			t.Fatalf("the trial's own value: %v", err)
		}
	}
	if (a.Value == nil) != (w.value == "") || !reflect.DeepEqual(got, expected) {
		t.Errorf("value is %.500s, want %.500s", a.Value, w.value)
	}
}

func (w want) checkError(t *testing.T, a answer) {
	t.Helper()
	if a.Error == nil {
		equal(t, "error.code", "", w.code)
		return
	}
	equal(t, "error.code", a.Error.Code, w.code)
	inOrder(t, "error.message", a.Error.Message, w.message)
}

func (w want) checkTruncated(t *testing.T, a answer) {
	t.Helper()
	got := map[string]int64{}
	for name, tr := range a.Truncated {
		got[name] = tr.Total
		if tr.Kept <= 0 || tr.Kept > tr.Total {
			t.Errorf("truncated.%s keeps %d of %d bytes", name, tr.Kept, tr.Total)
		}
	}
	expected := map[string]int64{}
	for name, total := range w.truncated {
		if total == 0 {
			delete(got, name)
		} else {
			expected[name] = total
		}
	}
	equal(t, "truncated", got, expected)
}

func (w want) checkWarnings(t *testing.T, a answer) {
	t.Helper()
	if w.perhaps != "" {
		a.Warnings = slices.DeleteFunc(a.Warnings, func(s string) bool { return strings.Contains(s, w.perhaps) })
	}
	if len(a.Warnings) != len(w.warnings) {
		t.Errorf("warnings are %q, want %q", a.Warnings, w.warnings)
		return
	}
	for i, part := range w.warnings {
		if !strings.Contains(a.Warnings[i], part) {
			t.Errorf("warning %q does not say %q", a.Warnings[i], part)
		}
	}
}

func equal(t *testing.T, field string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %#v, want %#v", field, got, want)
	}
}

func stream(t *testing.T, field, got, whole string, parts []string) {
	t.Helper()
	if parts == nil {
		if got != whole {
			t.Errorf("%s is %.700q, want %.700q", field, got, whole)
		}
		return
	}
	inOrder(t, field, got, parts)
}

func inOrder(t *testing.T, field, got string, parts []string) {
	t.Helper()
	rest := got
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%s is %.700q, want %q in this order", field, got, parts)
			return
		}
		rest = after
	}
}

// conforms checks an answer against the published schema.
func conforms(t *testing.T, a answer) {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(a.raw, &whole); err != nil {
		t.Fatal(err)
	}
	if err := schema().Validate(whole); err != nil {
		t.Errorf("not by the schema: %v", err)
	}
}

var schema = sync.OnceValue(func() *jsonschema.Resolved {
	text, err := os.ReadFile("../../docs/answer.schema.json")
	if err != nil {
		panic(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return resolved
})

// built is where TestMain puts the binary.
var built string

func TestMain(m *testing.M) {
	os.Exit(withBinary(m.Run))
}

// withBinary gives every test one directory for the real binary.
func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "gearbox-peers-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built = filepath.Join(dir, "gearbox")
	return run()
}

var build = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "build", "-o", built, "../../cmd/gearbox").CombinedOutput() //nolint:forbidigo // once for all tests, so no test's context may end it
	return string(out), err
})

// binary builds gearbox once, from what the tests were built from.
func binary(t *testing.T) string {
	t.Helper()
	if out, err := build(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return built
}

// environment is what a desktop client gives a server, with a locale that knows
// nothing but ASCII.
func environment() []string {
	return []string{"PATH=/usr/bin:/bin", "HOME=" + os.TempDir(), "LANG=C", "LC_ALL=C", "EMOJI=\U0001f600"}
}
