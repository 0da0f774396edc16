//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFieldIsFoundByItsWholeName(t *testing.T) {
	text := []byte("Name:\tSeccomp: x\nSeccomp:\t2\nSeccomp_filters:\t 3 \nLast: end")
	for name, want := range map[string]string{"Seccomp": "2", "Seccomp_filters": "3", "Last": "end", "filters": "", "": ""} {
		if got := field(text, name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestALineOfMountinfoIsPlaceAndOptions(t *testing.T) {
	m, err := parseMount([]byte("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"))
	if err != nil || string(m.point) != "/mnt2" {
		t.Fatalf("%q, %v", m.point, err)
	}
	for option, want := range map[string]bool{"rw": true, "noatime": true, "atime": false, "ro": false, "": false, "master:1": false} {
		if m.has(option) != want {
			t.Errorf("%q: %v", option, !want)
		}
	}
	if _, err := parseMount([]byte("36 35 98:0 /mnt1 /mnt2")); err == nil {
		t.Error("a short line is taken")
	}
}

func TestAReaderReadsWhatIsLongerThanItsBuffer(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 3000)
	name := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var r reader
	for range 2 {
		if got, err := r.read(unix.AT_FDCWD, name); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := r.read(unix.AT_FDCWD, name+"er"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestNamespacesAreThoseOfTheProcess(t *testing.T) {
	of := func(pid int) namespaceIDs {
		d, err := openProc(pid, &reader{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		ids, err := d.namespaces()
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if own, again := of(os.Getpid()), of(os.Getpid()); own != again {
		t.Errorf("%v and %v", own, again)
	}
	if err := apart("this process", of(os.Getpid()), of(os.Getpid())); err == nil {
		t.Error("a process is apart from itself")
	}
	if err := apart("nobody", namespaceIDs{}, of(os.Getpid())); err != nil {
		t.Error(err)
	}
}

// TestTheDirectoryOfAProcessThatIsGoneHoldsNothing, whoever gets its number.
func TestTheDirectoryOfAProcessThatIsGoneHoldsNothing(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d, err := openProc(cmd.Process.Pid, &reader{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if _, err := d.file("status"); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.file("status"); !errors.Is(err, unix.ESRCH) && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
