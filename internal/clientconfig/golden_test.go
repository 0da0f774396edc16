package clientconfig

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "write the expected files anew")

var sample = Entry{Command: "/opt/gearbox/bin/gearbox", Args: []string{"serve", "--gear", "restricted"}}

// clientOf takes the client from the front of a sample's name.
func clientOf(t *testing.T, path string) Client {
	t.Helper()
	for _, c := range Clients() {
		if strings.HasPrefix(filepath.Base(path), string(c)+"-") {
			return c
		}
	}
	t.Fatalf("%s: the name begins with no client", path)
	return ""
}

func samples(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.before.*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	return paths
}

func TestInstallChangesNothingButTheEntry(t *testing.T) {
	for _, path := range samples(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			before := read(t, path)
			target := Target{Client: clientOf(t, path), Path: filepath.Join(t.TempDir(), "config")}
			write(t, target.Path, before)
			if _, err := Install(target, sample, noon); err != nil {
				t.Fatal(err)
			}
			got := read(t, target.Path)
			golden := strings.Replace(path, ".before.", ".after.", 1)
			if *rewrite {
				write(t, golden, got)
			}
			if want := read(t, golden); !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestUninstallGivesBackTheBytesFromBefore(t *testing.T) {
	for _, path := range samples(t) {
		if strings.Contains(path, "own-entry") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			before := read(t, path)
			target := Target{Client: clientOf(t, path), Path: filepath.Join(t.TempDir(), "config")}
			write(t, target.Path, before)
			if _, err := Install(target, sample, noon); err != nil {
				t.Fatal(err)
			}
			out, err := Uninstall(target, noon)
			if err != nil || out.Change != Restored {
				t.Fatalf("%+v, %v", out, err)
			}
			if got := read(t, target.Path); !bytes.Equal(got, before) {
				t.Errorf("got %q\nwant %q", got, before)
			}
			if left := names(t, filepath.Dir(target.Path)); len(left) != 1 {
				t.Errorf("files are left over: %v", left)
			}
		})
	}
}

// Without a backup, the entry is cut out. For files that had a table of servers
// or a root with members, that alone gives back every byte.
func TestRemovingTheEntryUndoesAdding(t *testing.T) {
	exact := []string{"other-servers", "minified", "comments", "crlf-bom", "dotted"}
	for _, path := range samples(t) {
		f := clientOf(t, path).format()
		before := read(t, path)
		after, err := edited(f, before, sample)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		back, err := without(f, after)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, name := range exact {
			if strings.Contains(path, name) && !bytes.Equal(back, before) {
				t.Errorf("%s: got\n%s\nwant\n%s", path, back, before)
			}
		}
	}
}

func TestSnippetsOfEveryClientAndFramework(t *testing.T) {
	var out bytes.Buffer
	for _, c := range Clients() {
		text, err := Snippet(string(c), sample)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("== " + string(c) + "\n" + text)
	}
	for _, name := range Frameworks() {
		text, err := Snippet(name, Entry{Command: `C:\gear "box"\gearbox.exe`, Args: []string{"serve"}})
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("== " + name + "\n" + text)
	}
	golden := "testdata/snippets.txt"
	if *rewrite {
		write(t, golden, out.Bytes())
	}
	if want := read(t, golden); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.Bytes(), want)
	}
	if _, err := Snippet("emacs", sample); err == nil || !strings.Contains(err.Error(), "langchain") {
		t.Errorf("unknown name: %v", err)
	}
}
