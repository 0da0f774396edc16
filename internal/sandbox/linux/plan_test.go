//go:build linux && (amd64 || arm64)

package linux

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

func TestMountsBelowAMountAtItsOwnPathAreDropped(t *testing.T) {
	got := withoutCovered([]bind{
		{Source: "/usr/share/zoneinfo", Target: "/usr/share/zoneinfo"},
		{Source: "/usr", Target: "/usr"},
		{Source: "/usr", Target: "/usr"},
		{Source: "/usrlocal", Target: "/usrlocal"},
		{Source: "/home/python", Target: "/python"},
		{Source: "/python/lib", Target: "/python/lib"},
		{Source: "/opt/sort", Target: "/usr/bin/sort"},
	})
	var targets []string
	for _, m := range got {
		targets = append(targets, m.Target)
	}
	want := []string{"/python", "/python/lib", "/usr", "/usr/bin/sort", "/usrlocal"}
	if !slices.Equal(targets, want) {
		t.Errorf("got %v, want %v", targets, want)
	}
}

func TestInterpretersOutOfPlaceAreRefused(t *testing.T) {
	for name, in := range map[string]sandbox.Interpreter{
		"relative":          {Executable: "python3"},
		"outside its root":  {Embedded: true, Root: "/a/python", Executable: "/a/bin/python3"},
		"mount of the root": {Executable: "/usr/bin/python3", Mounts: []string{"/usr/.."}},
		"relative mount":    {Executable: "/usr/bin/python3", Mounts: []string{"lib"}},
	} {
		var p plan
		if err := p.addInterpreter(in); err == nil {
			t.Errorf("%s: accepted as %+v", name, p)
		}
	}
}

func TestRootOfANamespaceWithOneUserIsNotRoot(t *testing.T) {
	for text, want := range map[string]bool{
		"         0          0 4294967295\n": true,
		"0 1000 1\n":                         false,
		"0 1000 1\n1 100000 65536\n":         true,
		"0 1000 4242\n":                      false,
		"4242 0 1\n":                         true,
		"":                                   false,
		"nonsense\n":                         false,
	} {
		name := filepath.Join(t.TempDir(), "uid_map")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := isMapped(name, SandboxUID); got != want {
			t.Errorf("%q: mapped %v", text, got)
		}
	}
}

func TestProcessorLimitLiesAboveTheWallClock(t *testing.T) {
	const timeout = 1500 * time.Millisecond
	if got := time.Duration(cpuSeconds(timeout)) * time.Second; got <= timeout {
		t.Errorf("%v for a run of %v", got, timeout)
	}
}

func TestLimitsAreReadAsTheKernelPrintsThem(t *testing.T) {
	const text = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max open files            256                  256                  files     \n" +
		"Max processes             64                   unlimited            processes \n"
	for name, c := range map[string]struct {
		limit string
		most  int64
		ok    bool
	}{
		"in force":       {"Max open files", 256, true},
		"lower in force": {"Max open files", 1024, true},
		"too high":       {"Max open files", 255, false},
		"hard unlimited": {"Max processes", 64, false},
		"missing":        {"Max cpu time", 1, false},
	} {
		if err := checkLimit([]byte(text), c.limit, c.most); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
