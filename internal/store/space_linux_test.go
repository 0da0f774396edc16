package store_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// inside says that a test is the one in a namespace where it may mount.
const inside = "GEARBOX_STORE_TEST_INSIDE"

// mounting runs the calling test again in a process that may mount, and gives that one
// a small file system of its own. In the outer process it does not return a directory.
func mounting(t *testing.T, options string) (dir string, ok bool) {
	t.Helper()
	if os.Getenv(inside) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), inside+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := c.CombinedOutput()
		switch {
		case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EACCES):
			t.Skipf("this machine gives no user namespace to mount in: %v", err)
		case bytes.Contains(out, []byte("--- SKIP")):
			t.Skipf("in a namespace: %s", out)
		case err != nil:
			t.Errorf("in a namespace: %v\n%s", err, out)
		}
		return "", false
	}
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting a small file system is not possible here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, true
}

func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|flags, options))
}

func TestAFullDiskRefusesLosesNothingAndIsLeftBehindWithoutARestart(t *testing.T) {
	dir, ok := mounting(t, "size=1m")
	if !ok {
		return
	}
	s := open(t, store.Options{Dir: dir, Instance: "i"})
	var acknowledged, begun []execution.Record
	var err error
	for len(acknowledged) < 10_000 {
		r := storetest.Small("local", strings.Repeat("x", 5000))
		if err = create(s, r); err != nil {
			break
		}
		begun = append(begun, r)
		if err = finish(s, r); err != nil {
			break
		}
		acknowledged = append(acknowledged, r)
	}
	var explained *store.Error
	if !errors.Is(err, store.ErrFull) || !errors.As(err, &explained) || explained.Path != filepath.Join(dir, store.File) || explained.Hint() == "" || explained.Reason() != "the disk is full" {
		t.Fatalf("after %d runs: %v", len(acknowledged), err)
	}
	if err := create(s, storetest.Small("local", strings.Repeat("y", 100_000))); !errors.Is(err, store.ErrFull) {
		t.Errorf("again: %v", err)
	}
	for _, r := range acknowledged {
		if got, err := s.Load(t.Context(), "local", r.ID); err != nil || got.State != execution.StateFinished || got.Request.Code != r.Request.Code {
			t.Fatalf("while it is full: %v", err)
		}
	}
	remount(t, dir, 0, "size=16m")
	for _, r := range begun[len(acknowledged):] {
		must(t, finish(s, r))
	}
	kept(t, s, storetest.Full())
	if all := events(t, s); len(all) != 2*len(begun)+2 {
		t.Errorf("%d events of %d operations", len(all), len(begun)+1)
	}
	must(t, s.Close())
	again := open(t, store.Options{Dir: dir})
	for _, r := range begun {
		if got, err := again.Load(t.Context(), "local", r.ID); err != nil || got.State != execution.StateFinished {
			t.Fatalf("%+v, %v", got, err)
		}
	}
}

func TestADiskThatIsFullAtTheStartIsNamed(t *testing.T) {
	dir, ok := mounting(t, "size=64k")
	if !ok {
		return
	}
	must(t, os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 60<<10), 0o600))
	if _, err := store.Open(t.Context(), store.Options{Dir: dir, Version: "v1"}); !errors.Is(err, store.ErrFull) {
		t.Fatalf("got %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "ballast")))
	remount(t, dir, 0, "size=4m")
	kept(t, open(t, store.Options{Dir: dir}), storetest.Full())
}

func TestAReadOnlyDirectoryIsNamedAndLeftAsItIs(t *testing.T) {
	dir, ok := mounting(t, "size=4m")
	if !ok {
		return
	}
	refused := func(what string) {
		t.Helper()
		remount(t, dir, unix.MS_RDONLY, "size=4m")
		_, err := store.Open(t.Context(), store.Options{Dir: dir, Version: "v1"})
		var explained *store.Error
		if !errors.Is(err, store.ErrReadOnly) || !errors.As(err, &explained) || explained.Path != filepath.Join(dir, store.File) || explained.Hint() == "" {
			t.Errorf("%s: %v", what, err)
		}
		remount(t, dir, 0, "size=4m")
	}
	refused("without records")
	s := open(t, store.Options{Dir: dir})
	r := kept(t, s, storetest.Full())
	must(t, s.Close())
	refused("with records")
	s = open(t, store.Options{Dir: dir})
	if got, err := s.Load(t.Context(), r.Request.Principal, r.ID); err != nil || got.Result.Status != r.Result.Status {
		t.Errorf("afterwards: %v", err)
	}
	kept(t, s, storetest.Full())
	events(t, s)
}

// copied copies the files of the records as they lie on the disk.
func copied(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(to, name), text, 0o600))
	}
}

func TestRecordsOnADiskThatIsMountedForReadingAreReadWholeOrNotAtAll(t *testing.T) {
	dir, ok := mounting(t, "size=8m")
	if !ok {
		return
	}
	const wal, shm = store.File + "-wal", store.File + "-shm"
	live := open(t, store.Options{Dir: t.TempDir()})
	r := kept(t, live, storetest.Full())
	n := len(events(t, live))
	closed := open(t, store.Options{Dir: t.TempDir()})
	kept(t, closed, r)
	must(t, closed.Close())
	here := filepath.Dir(closed.Path())
	must(t, os.WriteFile(filepath.Join(here, "empty"), nil, 0o600))
	for name, c := range map[string]struct {
		from  string
		files []string
		why   string
	}{
		"closed in order":             {here, []string{store.File}, ""},
		"with an empty log":           {here, []string{store.File, "empty"}, ""},
		"after a kill":                {filepath.Dir(live.Path()), []string{store.File, wal, shm}, ""},
		"after a kill, index is lost": {filepath.Dir(live.Path()), []string{store.File, wal}, "copy the three files"},
		"nothing is there":            {here, nil, "there are no records"},
	} {
		t.Run(name, func(t *testing.T) {
			sub := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			must(t, os.Mkdir(sub, 0o700))
			copied(t, c.from, sub, c.files...)
			if _, err := os.Stat(filepath.Join(sub, "empty")); err == nil {
				must(t, os.Rename(filepath.Join(sub, "empty"), filepath.Join(sub, wal)))
			}
			remount(t, dir, unix.MS_RDONLY, "size=8m")
			defer remount(t, dir, 0, "size=8m")
			before := dirEntries(t, sub)
			s, err := store.OpenToRead(t.Context(), sub)
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), sub) {
					t.Errorf("%v", err)
				}
				return
			}
			must(t, err)
			if got, err := s.Load(t.Context(), r.Request.Principal, r.ID); err != nil || got.Result.Status != r.Result.Status {
				t.Errorf("%+v, %v", got, err)
			}
			if report, err := s.Verify(t.Context()); err != nil || report.Count() != int64(n) {
				t.Errorf("%+v, %v", report, err)
			}
			if err := create(s, storetest.Small("local", "1")); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("a commit: %v", err)
			}
			must(t, s.Close())
			if after := dirEntries(t, sub); !slices.Equal(after, before) {
				t.Errorf("%v, before %v", after, before)
			}
		})
	}
}

func TestWhoReadsRecordsAsUnchangingIsToldWhenTheyWereChanged(t *testing.T) {
	dir, ok := mounting(t, "size=8m")
	if !ok {
		return
	}
	s := open(t, store.Options{Dir: dir})
	kept(t, s, storetest.Full())
	must(t, s.Close())
	remount(t, dir, unix.MS_RDONLY, "size=8m")
	reader, err := store.OpenToRead(t.Context(), dir)
	must(t, err)
	remount(t, dir, 0, "size=8m")
	kept(t, open(t, store.Options{Dir: dir}), storetest.Full())
	if err := reader.Close(); err == nil || !strings.Contains(err.Error(), "do it again") {
		t.Errorf("%v", err)
	}
}
