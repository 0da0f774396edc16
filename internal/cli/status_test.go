package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestWithoutARunningServerStatusSaysSo(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := command(t, "", "status", "--data-dir", dir)
	if code != 0 || stdout != "No Gearbox runs with the data directory "+dir+".\n" || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, _ = command(t, "", "status", "--json", "--data-dir", dir)
	var got statusReport
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || got.DataDir != dir || got.Instances == nil || len(got.Instances) != 0 {
		t.Errorf("exit code %d, %q, %v", code, stdout, err)
	}
}

func TestAServerThatDoesNotAnswerIsNamedAndFailsTheStatus(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "instances"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := flock.New(filepath.Join(dir, "instances", "4711-SILENT.lease"), flock.SetPermissions(0o600))
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer func() { _ = l.Unlock() }()
	code, stdout, _ := command(t, "", "status", "--data-dir", dir)
	if code != exitFailed || !strings.Contains(stdout, "4711  does not answer: it has no socket") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	code, stdout, _ = command(t, "", "status", "--json", "--data-dir", dir)
	if code != exitFailed || !strings.Contains(stdout, `"problem": "it has no socket`) || strings.Contains(stdout, `"status"`) {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
}

// busy is a server that has done everything that can be shown.
func busy() sidecar.Report {
	return sidecar.Report{Instance: "4711-X", PID: 4711, Status: &sidecar.Status{
		PID: 4711, Version: "v1.2.3", Uptime: 8000, Transport: sidecar.TransportStdio, Gear: "user_confirmed", Isolation: execution.LevelFull,
		Load: engine.Load{Running: 2, Waiting: 1, Queue: 260},
		Pools: []sidecar.PoolStatus{{Backend: "linux", Stats: pool.Stats{
			Live: 2, Parked: 3, Waiting: 1, Sources: 1, Most: 4, MaxParked: 8, Pressed: true,
			Counts: pool.Counts{
				FromParked: 90, OnDemand: 10, Wait: pool.Durations{Count: 100, Sum: 0.1, Max: 1.25, Buckets: []pool.Bucket{
					{UpTo: 0.0005, Count: 40}, {UpTo: 0.001, Count: 60}, {UpTo: 0.01, Count: 98}, {UpTo: 1, Count: 99},
				}},
				Refills: 95, Warmed: 80, LetGo: 2, Died: 1, Opened: 4, Recycled: 2, Lost: 1,
				Ended: map[string]uint64{"finished": 90, "timeout": 5, "memory": 5, "exited": 0},
			},
			Templates: []pool.TemplateStats{
				{Language: execution.Python, Level: execution.LevelFull, Live: 2, Parked: 3, Warm: 2, Target: 4, Made: 101, Preload: "pandas"},
				{Language: execution.Bash, Made: 1},
			},
		}}},
	}}
}

func TestTheStatusIsReadable(t *testing.T) {
	idle := sidecar.Report{Instance: "4712-Y", PID: 4712, Status: &sidecar.Status{
		PID: 4712, Version: "v1.2.3", Uptime: 3, Transport: sidecar.TransportExec, Gear: "restricted", Load: engine.Load{Queue: 260},
	}}
	silent := sidecar.Report{Instance: "op_old", Problem: "it has no socket"}
	var out bytes.Buffer
	if err := (&app{Streams: Streams{Out: &out}}).printStatus("/d", []sidecar.Report{busy(), idle, silent}); err != nil {
		t.Fatal(err)
	}
	const want = `PID     UP     TRANSPORT  GEAR            ISOLATION  RUNNING  WAITING  PARKED  VERSION
4711    2h13m  stdio      user_confirmed  full       2 of 4   1        3       v1.2.3
4712    3s     exec       restricted      -          0        0        0       v1.2.3
op_old  does not answer: it has no socket

Process 4711, sandboxes of backend linux
  now           2 at work, 3 parked of at most 8; memory is short, so that none is parked
  handed out    90 that were parked, 10 made on demand
  waited for    half at most 1.00 ms, 99 % at most 1.00 s, longest 1.25 s, mean 1.00 ms
  refilled      95, of them 80 warmed up; 2 let go unused, 1 died
  fork servers  1 open; 4 opened, 2 recycled, 1 lost
  ended         90 finished, 5 memory, 5 timeout
  templates     python, level full: 2 at work, 3 parked (2 warm) of 4 wanted, 101 made, with pandas
                bash, level -: 0 at work, 0 parked (0 warm) of 0 wanted, 1 made
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

func TestWhatAnotherProcessSaysCannotSteerTheTerminal(t *testing.T) {
	r := busy()
	r.Status.Version, r.Status.Gear = "v1\x1b]0;owned\a", "one\ttwo\n4713 is fine\u202e"
	var out bytes.Buffer
	if err := (&app{Streams: Streams{Out: &out}}).printStatus("/d", []sidecar.Report{r}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\a\u202e\t") || strings.Contains(out.String(), "\n4713") {
		t.Errorf("%q", out.String())
	}
}

func TestLongAndShortTimesAreWrittenWithTheirOwnUnits(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 59.9: "59s", 61: "1m01s", 3600: "1h00m", 90000: "1d01h"} {
		if got := uptime(s); got != want {
			t.Errorf("%v: %q", s, got)
		}
	}
	for s, want := range map[float64]string{0.00033: "0.33 ms", 0.0123: "12.30 ms", 2.5: "2.50 s"} {
		if got := seconds(s); got != want {
			t.Errorf("%v: %q", s, got)
		}
	}
	if got := waits(pool.Durations{}); got != "-" {
		t.Errorf("%q", got)
	}
}

func TestKindsThatLookAlikeAreToldApart(t *testing.T) {
	python := func(class execution.Class, interpreter, programs string) pool.TemplateStats {
		return pool.TemplateStats{Language: execution.Python, Class: class, Interpreter: interpreter, Programs: programs}
	}
	const old, compiled = "sha256:0123456789abcdef", "sha256:fedcba9876543210"
	for name, c := range map[string]struct {
		all  []pool.TemplateStats
		want []string
	}{
		"one":          {[]pool.TemplateStats{python(execution.ClassLocal, old, "git")}, []string{""}},
		"languages":    {[]pool.TemplateStats{python(execution.ClassLocal, old, "git"), {Language: execution.Bash, Interpreter: compiled}}, []string{"", ""}},
		"interpreters": {[]pool.TemplateStats{python(execution.ClassLocal, old, ""), python(execution.ClassLocal, compiled, "")}, []string{", interpreter 01234567", ", interpreter fedcba98"}},
		"programs":     {[]pool.TemplateStats{python(execution.ClassLocal, old, ""), python(execution.ClassLocal, old, "git,ls")}, []string{", programs none", ", programs git,ls"}},
		"all": {
			[]pool.TemplateStats{python(execution.ClassLocal, old, ""), python("other", compiled, "ls")},
			[]string{", for " + string(execution.ClassLocal) + " callers, interpreter 01234567, programs none", ", for other callers, interpreter fedcba98, programs ls"},
		},
	} {
		for i, kind := range c.all {
			if got := apart(kind, c.all); got != c.want[i] {
				t.Errorf("%s: %q, want %q", name, got, c.want[i])
			}
		}
	}
}
