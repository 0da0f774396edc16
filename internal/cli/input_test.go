package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endless calls back once and then gives nothing for ever.
type endless struct{ onRead func() }

func (e endless) Read([]byte) (int, error) {
	e.onRead()
	select {}
}

func TestInterruptEndsTheReadingOfInput(t *testing.T) {
	for _, args := range [][]string{
		{"exec", "-"}, {"exec", "--stdin", "-", "-c", "1"}, {"exec", "--json", "-"}, {"gear", "explain", "restricted", "-"},
	} {
		ctx, interrupt := context.WithCancel(context.Background())
		var out, errs bytes.Buffer
		code := Main(ctx, Streams{In: endless{interrupt}, Out: &out, Err: &errs}, args)
		if code != exitCancelled || out.Len() != 0 || !strings.Contains(errs.String(), "cancelled before the program began") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, out.String(), errs.String())
		}
		interrupt()
	}
}

func TestInputFilesAreReadToTheirBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte("abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Streams: Streams{In: io.MultiReader(strings.NewReader("ab"), strings.NewReader("cdef"))}}
	for _, name := range []string{path, "-"} {
		if got, err := a.readFile(context.Background(), name, 3); err != nil || got != "abcd" {
			t.Errorf("%s: %q, %v: want one byte more than the bound", name, got, err)
		}
	}
}
