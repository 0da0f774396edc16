//go:build linux && (amd64 || arm64)

package linux

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/guest"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// sabotaged is the guest with some text of one file replaced: what a package that
// got into the fork server could do to the sealing.
func sabotaged(t *testing.T, name, old, new string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(guest.Files, guest.Package, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(guest.Files, path)
		out[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return replaced(t, out, name, old, new)
}

func replaced(t *testing.T, files fstest.MapFS, name, old, new string) fstest.MapFS {
	t.Helper()
	f := files[guest.Package+"/"+name]
	if f == nil || !strings.Contains(string(f.Data), old) {
		t.Fatalf("nothing to sabotage: %q is not in %s", old, name)
	}
	f.Data = []byte(strings.ReplaceAll(string(f.Data), old, new))
	return files
}

// TestChildThatSkipsAStepIsCaughtFromOutside: proof that nothing rests on the
// guest's word.
func TestChildThatSkipsAStepIsCaughtFromOutside(t *testing.T) {
	for name, c := range map[string]struct{ file, old, new, found string }{
		"seccomp":         {"seal.py", "kernel.install_filter(plan.cell_filter)", "None", `cell has Seccomp`},
		"capabilities":    {"seal.py", `("capabilities", kernel.drop_capabilities)`, `("capabilities", lambda: None)`, `has Cap`},
		"bounding set":    {"kernel.py", `_prctl(_PR_CAPBSET_DROP, "drop from the bounding set", capability)`, "pass", `CapBnd`},
		"mount namespace": {"seal.py", "kernel.CLONE_NEWNS\n        |", "0 |", `shares the mnt namespace`},
		"network":         {"seal.py", "| kernel.CLONE_NEWNET", "", `shares the net namespace`},
		"ipc":             {"seal.py", "| kernel.CLONE_NEWIPC", "", `shares the ipc namespace`},
		"uts":             {"seal.py", "| kernel.CLONE_NEWUTS", "", `shares the uts namespace`},
		"cgroup":          {"seal.py", "| kernel.CLONE_NEWCGROUP", "", `shares the cgroup namespace`},
		"user namespace": {"seal.py", `    kernel.unshare(kernel.CLONE_NEWUSER)
    _map_user(None, "/proc/self")
    for name, most in plan.quotas:
        _write(name, most, quotas)`, "", `shares the user namespace`},
		"pid namespace":  {"forkserver.py", "kernel.setns(reaper.namespace, kernel.CLONE_NEWPID)", "None", `process numbers`},
		"writable mount": {"seal.py", `kernel.mount("/tmp/shm", "/dev/shm", None, kernel.MS_BIND)`, `kernel.mount("/tmp/shm", "/dev/shm", None, kernel.MS_BIND); kernel.mount("/tmp/shm", "/var/tmp", None, kernel.MS_BIND)`, `write to more than scratch`},
		"session":        {"seal.py", `("session", leave_session)`, `("session", lambda: None)`, `cell has NSpgid`},
		"set-user-id":    {"seal.py", "flags = kernel.MS_NOSUID | kernel.MS_NODEV", "flags = kernel.MS_NODEV", `mount /tmp with`},
		"wrong filter":   {"seal.py", "kernel.install_filter(plan.cell_filter)", "[kernel.install_filter(f) for f in (plan.cell_filter, plan.no_exec_filter)]", `Seccomp_filters "2"`},
		"second thread":  {"seal.py", "def seal(plan: Plan, descriptors: list[int], place: str) -> None:", "def seal(plan: Plan, descriptors: list[int], place: str) -> None:\n    import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n    _seal(plan, descriptors, place)\ndef _seal(plan: Plan, descriptors: list[int], place: str) -> None:", `unshare`},
	} {
		t.Run(name, func(t *testing.T) {
			s := openWith(t, backend(t, sabotaged(t, c.file, c.old, c.new)), sandbox.Shape{})
			child, err := s.Start(bounded(t), false)
			if err == nil {
				child.Kill(sandbox.CauseAbandoned)
				t.Fatal("the child was given away")
			}
			if !strings.Contains(err.Error(), c.found) {
				t.Errorf("got %v, want %q in it", err, c.found)
			}
			var step *StepError
			if !errors.As(err, &step) {
				<-s.Done() // the fork server is not trusted any more
			}
		})
	}
}

// TestWhatIsNoReaperIsCaughtFromOutside looks at processes that are none: reapers are made by
// the host's own program, where there is nothing to sabotage.
func TestWhatIsNoReaperIsCaughtFromOutside(t *testing.T) {
	s := open(t, sandbox.Shape{})
	c := start(t, s)
	reaper, err := c.reaper.pid()
	if err != nil {
		t.Fatal(err)
	}
	look := func(o outside, pid int) error {
		d, err := openProc(pid, &reader{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		return o.checkReaper(d)
	}
	if err := look(s.outside, reaper); err != nil {
		t.Fatal(err)
	}
	stricter := s.outside
	stricter.filters++
	for name, c := range map[string]struct {
		outside outside
		pid     int
		found   string
	}{
		"the fork server": {s.outside, s.server.process.Pid, "reaper has "},
		"a cell":          {s.outside, c.processes().mustCell(t), "process numbers"},
		"this process":    {s.outside, os.Getpid(), "reaper has "},
		"a filter less":   {stricter, reaper, "Seccomp_filters"},
	} {
		if err := look(c.outside, c.pid); err == nil || !strings.Contains(err.Error(), c.found) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestMissingNoNewPrivilegesIsCaughtFromOutside needs more sabotage than one step:
// without the flag the kernel itself refuses Landlock, and filters to a process
// without capabilities.
func TestMissingNoNewPrivilegesIsCaughtFromOutside(t *testing.T) {
	files := sabotaged(t, "seal.py", `("capabilities", kernel.drop_capabilities)`,
		`("capabilities", lambda: (kernel.install_filter(plan.cell_filter), kernel.drop_capabilities()))`)
	for _, step := range []string{
		`("no new privileges", kernel.no_new_privileges),`, `("landlock", lambda: restrict_files(["/"], _SCRATCH)),`,
		`("seccomp", lambda: install_filters(plan)),`,
	} {
		files = replaced(t, files, "seal.py", step, "")
	}
	_, err := openWith(t, backend(t, files), sandbox.Shape{}).Start(bounded(t), false)
	if err == nil || !strings.Contains(err.Error(), `NoNewPrivs "0"`) {
		t.Errorf("got %v", err)
	}
}

func TestNarrowingThatIsOnlyClaimedIsCaught(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		arm      sandbox.Arm
	}{
		"no fork": {"kernel.install_filter(plan.no_fork_filter)", "None", sandbox.Arm{NoFork: true}},
		"no exec": {"kernel.install_filter(plan.no_exec_filter)", "None", sandbox.Arm{NoExec: true}},
		// Without the first limit on files there is no child to begin with.
		"limits": {
			"lower_limit(what, int(limits[key]))", `key == "open_files" and lower_limit(what, int(limits[key]))`,
			sandbox.Arm{Limits: execution.Limits{Memory: 128 * execution.MiB}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openWith(t, backend(t, sabotaged(t, "seal.py", c.old, c.new)), sandbox.Shape{})
			child := start(t, s)
			if err := child.Arm(bounded(t), c.arm); err == nil {
				t.Fatal("armed")
			}
			if e, err := child.Wait(bounded(t)); err != nil || e.Cause != sandbox.CauseUnsealed {
				t.Errorf("ended %+v, %v", e, err)
			}
			<-s.Done()
		})
	}
}

// TestGuestThatEndsBeforeHelloSaysWhy: the step is named, so that a probe can say
// what to mend.
func TestGuestThatEndsBeforeHelloSaysWhy(t *testing.T) {
	files := sabotaged(t, "seal.py", "    version = kernel.landlock_version()", "    raise OSError(38, 'landlock version: Function not implemented')")
	s := openWith(t, backend(t, files), sandbox.Shape{})
	_, err := s.Start(bounded(t), false)
	var step *StepError
	if !errors.As(err, &step) || step.Step != "landlock" || step.Errno != 38 {
		t.Errorf("got %v", err)
	}
	// One child that cannot be sealed does not end the fork server.
	if _, err := s.Start(bounded(t), false); !errors.As(err, &step) {
		t.Errorf("second start: %v", err)
	}
}

func TestProbeNamesTheStepThatFails(t *testing.T) {
	files := sabotaged(t, "seal.py", "    version = kernel.landlock_version()", "    raise OSError(95, 'landlock version: Operation not supported')")
	report := backend(t, files).Probe(bounded(t))
	last := report.Checks[len(report.Checks)-1]
	if report.Available() || last.Name != checkLandlock || last.OK || !strings.Contains(last.Hint, "lsm=") {
		t.Errorf("report %+v", report)
	}
}

func TestProbeFindsAFullSandbox(t *testing.T) {
	report := backend(t, nil).Probe(bounded(t))
	if report.Level != execution.LevelFull {
		t.Errorf("report %+v", report)
	}
}
