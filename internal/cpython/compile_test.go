package cpython

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompilingReplacesTheTreeAndKeepsTheOneInUse(t *testing.T) {
	config := testConfig(t)
	first := ensure(t, config)
	next := compiled(t, config)
	if next.Root == first.Root || next.Digest == first.Digest || next.Content != first.Content || !next.Compiled || first.Compiled {
		t.Fatalf("first %+v, then %+v", first, next)
	}
	if got := python(t, first.Executable, "print(6*7)"); got != "42" {
		t.Errorf("the first tree says %q", got)
	}
	if later := ensure(t, config); later.Root != next.Root || later.Digest != next.Digest {
		t.Errorf("a later start finds %+v", later)
	}
	first.Release()
	ensure(t, config)
	if _, err := os.Stat(first.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the first tree is still there: %v", err)
	}
}

func TestACompiledTree(t *testing.T) {
	config := testConfig(t)
	ensure(t, config).Release()
	inst := compiled(t, config)
	t.Run("is trusted without looking at its sources", func(t *testing.T) { trustsByteCode(t, inst) })
	t.Run("is not compiled again", func(t *testing.T) {
		if again := compiled(t, config); again.Root != inst.Root || again.Digest != inst.Digest {
			t.Fatalf("first %+v, again %+v", inst, again)
		}
	})
	t.Run("is refused when its byte code is changed", func(t *testing.T) {
		file := filepath.Join(inst.Root, "lib", "python3.14", "__pycache__", "this.cpython-314.pyc")
		info, err := os.Stat(file)
		must(t, err)
		overwrite(t, file, strings.Repeat("x", int(info.Size())))
		refuses(t, config, file, "other contents")
		extra := filepath.Join(filepath.Dir(file), "json.cpython-314.opt-1.pyc")
		must(t, os.WriteFile(extra, nil, 0o444))
		refuses(t, config, extra, "does not belong")
	})
}

func trustsByteCode(t *testing.T, inst Installation) {
	t.Helper()
	// PEP 552: bit 0 says that a hash identifies the source, bit 1 that it is checked.
	got := python(t, inst.Executable, `
import json
data = open(json.__spec__.cached, "rb").read(8)
print(int.from_bytes(data[4:], "little"), json.__spec__.loader.get_code("json").co_filename == json.__file__)
`)
	if got != "1 True" {
		t.Fatalf("got %q", got)
	}
}

func TestCompilingATamperedTreeIsRefused(t *testing.T) {
	config := testConfig(t)
	inst := ensure(t, config)
	overwrite(t, filepath.Join(inst.Root, victim), "import os\n")
	_, err := Compile(t.Context(), config)
	var tampered *TamperedError
	if !errors.As(err, &tampered) {
		t.Fatalf("got %v", err)
	}
}

func TestACancelledCompilationLeavesTheFirstTree(t *testing.T) {
	config := testConfig(t)
	first := ensure(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	config.Progress = func(string) { cancel() }
	if _, err := Compile(ctx, config); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	config.Progress = nil
	if inst := ensure(t, config); inst.Root != first.Root || len(trees(t, config.Dir)) != 1 {
		t.Fatalf("found %s of %q", inst.Root, trees(t, config.Dir))
	}
}

func TestATreeRepairedWhileACopyIsMadeOfItStaysCurrent(t *testing.T) {
	config := testConfig(t)
	ensure(t, config)
	var repaired Installation
	other := config
	config.Progress = func(string) {
		config.Progress = nil
		var err error
		repaired, err = Repair(t.Context(), other)
		must(t, err)
	}
	inst := compiled(t, config)
	if inst.Root != repaired.Root || inst.Compiled {
		t.Fatalf("got %+v, want %s", inst, repaired.Root)
	}
}

func TestATreeIsKeptWhileAProcessThatInheritedItLives(t *testing.T) {
	config := testConfig(t)
	inst := ensure(t, config)
	files, err := inst.lease.share()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.ExtraFiles = files
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	for _, f := range files {
		must(t, f.Close())
	}
	inst.Release()
	fresh, err := Repair(t.Context(), config)
	must(t, err)
	defer fresh.Release()
	if _, err := os.Stat(inst.Root); err != nil {
		t.Errorf("the tree went below a living process: %v", err)
	}
	must(t, stdin.Close())
	must(t, cmd.Wait())
	ensure(t, config)
	if _, err := os.Stat(inst.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tree outlived its last process: %v", err)
	}
}

func TestABoundedBufferKeepsTheFirstBytesAndTakesAll(t *testing.T) {
	b := &bounded{most: 4}
	for _, part := range []string{"abc", "def", "g"} {
		if n, err := io.WriteString(b, part); n != len(part) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if b.buffer.String() != "abcd" || !b.overflow {
		t.Fatalf("kept %q, overflow %v", b.buffer.String(), b.overflow)
	}
}
