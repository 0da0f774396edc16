//go:build linux

package sidecar_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func TestMain(m *testing.M) {
	sidecar.Reexec()
	code := m.Run()
	if dir, err := webDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// open starts a sidecar that is closed at the end of the test.
func open(t testing.TB, o sidecar.Options) *sidecar.Sidecar {
	t.Helper()
	s, err := tryOpen(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(t testing.TB, o sidecar.Options) (*sidecar.Sidecar, error) {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = cpythontest.DataDir(t)
	}
	s, err := sidecar.Open(t.Context(), o, "test", slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})), nil)
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

// run runs a program to its end. It skips, by name and reason, where this
// machine gives no sandbox.
func run(t testing.TB, s *sidecar.Sidecar, r execution.Request) execution.Result {
	t.Helper()
	r.Principal, r.Language = execution.Local, cmp.Or(r.Language, execution.Python)
	id, err := s.Engine().Submit(t.Context(), r)
	if err != nil {
		if strings.Contains(err.Error(), "no sandbox can be built here") {
			t.Skipf("skipped: %v", err)
		}
		t.Fatal(err)
	}
	res, err := s.Engine().Wait(t.Context(), execution.Local, id, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestHonestProgramsRunWithoutAlarm(t *testing.T) {
	files, err := filepath.Glob("../../test/corpus/honest/*.py")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, gear := range []string{"restricted", "user_confirmed"} {
		s := open(t, sidecar.Options{Gear: gear})
		for _, f := range files {
			t.Run(gear+"/"+filepath.Base(f), func(t *testing.T) {
				code, want := read(t, f), read(t, strings.TrimSuffix(f, ".py")+".out")
				r := run(t, s, execution.Request{Code: code})
				if r.Status != execution.StatusOK || r.Stdout != want || r.Isolation != execution.LevelFull {
					t.Errorf("status %s at level %s, error %+v\n%s%s", r.Status, r.Isolation, r.Error, r.Stdout, r.Stderr)
				}
			})
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAClientIsAnsweredWhileTheInterpreterIsPrepared(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "python"), 0o700); err != nil {
		t.Fatal(err)
	}
	// As long as this lock is held nothing can be unpacked.
	busy := flock.New(filepath.Join(dir, "python", "lock"), flock.SetPermissions(0o600))
	if ok, err := busy.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s := open(t, sidecar.Options{DataDir: dir})
	here, there := mcp.NewInMemoryTransports()
	go func() { _ = s.Serve(t.Context(), there) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := client.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 4 || tools.Tools[0].Name != "execute" {
		t.Fatalf("%+v, %v", tools, err)
	}
	if err := busy.Unlock(); err != nil {
		t.Fatal(err)
	}
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "6*7"}})
	if err != nil || res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "42") {
		t.Fatalf("%+v, %v", res, err)
	}
	_ = client.Close()
}

func TestFullTrustNeedsToBeSaid(t *testing.T) {
	root := os.Geteuid() == 0
	for name, c := range map[string]struct {
		options sidecar.Options
		ok      bool
	}{
		"silent":        {sidecar.Options{Gear: "full_trust"}, false},
		"one flag":      {sidecar.Options{Gear: "full_trust", AllowFullTrust: true}, !root},
		"both flags":    {sidecar.Options{Gear: "full_trust", AllowFullTrust: true, AllowFullTrustAsRoot: true}, true},
		"only for root": {sidecar.Options{Gear: "full_trust", AllowFullTrustAsRoot: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tryOpen(t, c.options)
			if (err == nil) != c.ok {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			r := run(t, s, execution.Request{Code: "print('ok')"})
			if r.Status != execution.StatusOK || r.Isolation != execution.LevelNone || len(r.Warnings) == 0 {
				t.Fatalf("%+v", r)
			}
		})
	}
}

func TestACallCannotLeaveTheSandbox(t *testing.T) {
	s := open(t, sidecar.Options{AllowFullTrust: true, AllowFullTrustAsRoot: true})
	_, err := s.Engine().Submit(t.Context(), execution.Request{
		Principal: execution.Local, Language: execution.Python, Code: "1", Gear: "full_trust",
	})
	if err == nil || !strings.Contains(err.Error(), "gear") {
		t.Fatalf("%v", err)
	}
}

func TestACallOnlyNarrows(t *testing.T) {
	s := open(t, sidecar.Options{Gear: "restricted"})
	if r := run(t, s, execution.Request{Code: "import subprocess", Gear: "user_confirmed"}); r.Status != execution.StatusDenied {
		t.Fatalf("%+v", r)
	}
	s = open(t, sidecar.Options{})
	if r := run(t, s, execution.Request{Code: "import subprocess", Gear: "restricted"}); r.Status != execution.StatusDenied {
		t.Fatalf("%+v", r)
	}
}

func TestWhatNothingCanCarryOutIsRefusedAlthoughAllowed(t *testing.T) {
	s := open(t, sidecar.Options{Allow: []string{"net(example.com:80)"}})
	r := run(t, s, execution.Request{Code: "import urllib.request\nurllib.request.urlopen('http://example.com/')"})
	if r.Status != execution.StatusDenied || !strings.Contains(r.Error.Violations[0].Hint, "no mechanism") {
		t.Fatalf("%+v %+v", r, r.Error)
	}
}

func TestAMinimumAboveWhatTheMachineHasRefusesEverything(t *testing.T) {
	s := open(t, sidecar.Options{MinimumIsolation: "microvm"})
	_, err := s.Engine().Submit(t.Context(), execution.Request{Principal: execution.Local, Language: execution.Python, Code: "1"})
	if err == nil || !strings.Contains(err.Error(), "--minimum-isolation") && !strings.Contains(err.Error(), "no sandbox") {
		t.Fatalf("%v", err)
	}
}

func TestTheLeaseOfADeadProcessIsSweptAway(t *testing.T) {
	dir := cpythontest.DataDir(t)
	dead := filepath.Join(dir, "instances", "op_dead.lease")
	if err := os.MkdirAll(filepath.Dir(dead), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := open(t, sidecar.Options{})
	second := open(t, sidecar.Options{})
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead one's lease is still there: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if r := run(t, second, execution.Request{Code: "print(1)"}); r.Stdout != "1\n" {
		t.Errorf("%+v", r)
	}
}

func TestManyStartsAtOnceTakeTheirLeases(t *testing.T) {
	dir := cpythontest.DataDir(t)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			s, err := sidecar.Open(t.Context(), sidecar.Options{DataDir: dir}, "test", slog.New(slog.DiscardHandler), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestADataDirectoryThatOthersCanWriteIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("allow: [import(subprocess)]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, sidecar.Options{DataDir: dir, Python: "/usr/bin/python3"}); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("%v", err)
	}
	if _, _, err := sidecar.FindGear(sidecar.Options{DataDir: dir}); err == nil {
		t.Error("its gears were read")
	}
	if os.Geteuid() != 0 {
		t.Skip("the owner's part is skipped: only root can give a directory away")
	}
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 54321, 54321)); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, sidecar.Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "belongs to uid 54321") {
		t.Errorf("%v", err)
	}
}

func TestTheEndOfTheServerEndsWhatRuns(t *testing.T) {
	s := open(t, sidecar.Options{})
	here, there := mcp.NewInMemoryTransports()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, there)
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{
			"code": "import time\ntime.sleep(600)", "timeout_seconds": 300, "wait_seconds": 600,
		}})
	}()
	before := descendants(t, os.Getpid())
	for descendants(t, os.Getpid()) <= before+1 && t.Context().Err() == nil {
		runtime.Gosched() // until the program runs: a reaper and a cell more
	}
	stop()
	<-served
	<-answered
	_ = client.Close()
}
