package snippet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// records keep pins in memory.
type records map[string]execution.Digest

func (r records) SnippetPins(context.Context) (map[string]execution.Digest, error) { return r, nil }

func save(t *testing.T, b Book, r records, s Snippet, replace bool) error {
	t.Helper()
	return b.Save(t.Context(), s, replace, func(context.Context) error {
		r[s.Name] = s.Pin()
		return nil
	})
}

func TestASnippetIsWhatTheRecordsSay(t *testing.T) {
	dir, r := t.TempDir(), records{}
	b := Open(dir, r)
	if all, err := b.List(t.Context()); err != nil || all != nil {
		t.Fatalf("%v, %v", all, err)
	}
	if err := save(t, b, r, total(), false); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(b.File("total")); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if s, err := b.Load(t.Context(), "total"); err != nil || s.Pin() != total().Pin() {
		t.Errorf("%v, %v", s, err)
	}
	other := total()
	other.Code = "1"
	if err := save(t, b, r, other, false); !errors.Is(err, ErrExists) || r["total"] != total().Pin() {
		t.Errorf("%v", err)
	}
	if err := save(t, b, r, other, true); err != nil {
		t.Error(err)
	}
	if s, err := b.Load(t.Context(), "total"); err != nil || s.Code != "1" {
		t.Errorf("%v, %v", s, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, Folder, "*"+suffix)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestWhatIsNotOnRecordIsNotSaved(t *testing.T) {
	b := Open(t.TempDir(), records{})
	full := errors.New("the disk is full")
	err := b.Save(t.Context(), total(), false, func(context.Context) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if all, err := b.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAFileThatTheRecordsDoNotKnowIsRefused(t *testing.T) {
	rewritten := total()
	rewritten.Code = "import os"
	text, err := rewritten.Format()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(path string, r records) error
		want   string
	}{
		"with a pin of its own": {func(path string, _ records) error { return os.WriteFile(path, text, 0o600) }, "and the records say that"},
		"put there by hand":     {func(_ string, r records) error { delete(r, "total"); return nil }, "the records know of no snippet"},
		"gone":                  {func(path string, _ records) error { return os.Remove(path) }, "the file is gone"},
		"emptied":               {func(path string, _ records) error { return os.Truncate(path, 0) }, "no line of three hyphens"},
		"a folder": {func(path string, _ records) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, "not a regular file"},
		"open to others": {func(path string, _ records) error { return os.Chmod(path, 0o620) }, "open to other users"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "open to others" && runtime.GOOS == "windows" {
				t.Skip("skipped: files have no such modes on Windows")
			}
			r := records{}
			b := Open(t.TempDir(), r)
			if err := save(t, b, r, total(), false); err != nil {
				t.Fatal(err)
			}
			if err := c.change(b.File("total"), r); err != nil {
				t.Fatal(err)
			}
			var refused *RefusedError
			_, err := b.Load(t.Context(), "total")
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Hint() == "" {
				t.Errorf("%v", err)
			}
			all, err := b.List(t.Context())
			if err != nil || len(all) != 1 || all[0].Err == nil || all[0].Snippet.Name != "total" {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

func TestASnippetUnderAnotherNameIsRefused(t *testing.T) {
	r := records{}
	b := Open(t.TempDir(), r)
	if err := save(t, b, r, total(), false); err != nil {
		t.Fatal(err)
	}
	r["sum"] = r["total"]
	if err := os.Rename(b.File("total"), b.File("sum")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Load(t.Context(), "sum"); err == nil || !strings.Contains(err.Error(), "it holds the snippet total") {
		t.Errorf("%v", err)
	}
}

func TestARemovedSnippetIsUnknownAlsoWhenItWasRefused(t *testing.T) {
	r := records{}
	b := Open(t.TempDir(), r)
	if err := save(t, b, r, total(), false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.File("total"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := b.Remove(t.Context(), "total", func(context.Context) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if err := b.Remove(t.Context(), "total", func(context.Context) error { delete(r, "total"); return nil }); err != nil {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"total", "../total", ""} {
		if _, err := b.Load(t.Context(), name); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
		err := b.Remove(t.Context(), name, func(context.Context) error { return nil })
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestThereAreNoMoreThanEverySessionCanRead(t *testing.T) {
	r := records{}
	for i := range MaxSnippets {
		r[fmt.Sprintf("s%d", i)] = execution.Digest{}
	}
	if err := save(t, Open(t.TempDir(), r), r, total(), false); err == nil || !strings.Contains(err.Error(), "remove one first") {
		t.Errorf("%v", err)
	}
}
