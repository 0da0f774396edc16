package serverfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad holds that whatever a file says is read or refused, that no server is there
// twice, that nothing unexpanded is passed on, and that what is exported reads back.
func FuzzLoad(f *testing.F) {
	for name, file := range clientFiles() {
		data, err := os.ReadFile(filepath.Join("testdata/clients", name, file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(file), data)
	}
	f.Add(".yaml", []byte("a: &b [*b]\n? {}\n: x\n<<: 1"))
	f.Add(".toml", []byte("[[mcp_servers]]\nname='a'\n[a.b]\nc.d=1979-05-27"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, ext string, data []byte) {
		if ext != ".json" && ext != ".toml" && ext != ".yaml" {
			ext = ".json"
		}
		path := filepath.Join(dir, "x"+ext)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o := options()
		o.Home = "" // no file outside dir is named
		read, _, err := Read([]string{path}, o)
		if err != nil {
			return
		}
		var good []Entry
		seen := map[string]bool{}
		for _, e := range read {
			if seen[e.Spec.Name] {
				t.Errorf("%q is there twice", e.Spec.Name)
			}
			seen[e.Spec.Name] = true
			e.EnvFile = ""
			spec, _ := (expander{options: o}).spec(e)
			if spec.Fault == "" && len(spec.Command) == 0 && spec.URL == "" {
				t.Errorf("%q can be used and is nowhere", spec.Name)
			}
			if e.Spec.Fault == "" {
				good = append(good, e)
			}
		}
		roundTrip(t, good)
	})
}

// roundTrip exports, merges and reads back.
func roundTrip(t *testing.T, good []Entry) {
	t.Helper()
	text, err := Export(good)
	if err != nil {
		t.Fatal(err)
	}
	r := &fileReader{path: "/x/" + FileName, options: options()}
	tree, err := decode(format{maxJSON, parseJSON}, text)
	if err == nil {
		err = r.read(tree)
	}
	if err != nil || len(r.entries) != len(good) {
		t.Fatalf("%d of %d servers read back: %v\n%s", len(r.entries), len(good), err, text)
	}
	again, err := Export(r.entries)
	if err != nil || !bytes.Equal(text, again) {
		t.Fatalf("%v: exported again it differs:\n%s\n%s", err, text, again)
	}
	merged, m, err := Merge("/x/"+FileName, text, good, true)
	if err != nil || len(m.Unchanged) != len(good) || !bytes.Equal(merged, text) {
		t.Fatalf("merging the same again: %+v, %v", m, err)
	}
}

// FuzzExpand holds that a text is expanded wholly or is an error.
func FuzzExpand(f *testing.F) {
	f.Add("a${A}b$${c}${D:-e}${input:x}${")
	f.Fuzz(func(t *testing.T, s string) {
		x := expander{options: Options{Lookup: func(string) (string, bool) { return "v", true }}}
		got, err := x.expand(s)
		if err == nil && strings.Count(got, "${") != strings.Count(s, "$${") {
			t.Errorf("%q expands to %q", s, got)
		}
		if back, err := x.expand(escaped(s)); !strings.Contains(s, "\x00") && len(s) < maxValue && (err != nil || back != s) {
			t.Errorf("%q escaped expands to %q, %v", s, back, err)
		}
	})
}

// FuzzEnv holds that an env file is read or refused, and no value cut short.
func FuzzEnv(f *testing.F) {
	f.Add([]byte("A=1\nexport B=\"\\ud83d\\udd25\"\nC='x'#y\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "x.env")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, _ = readEnv(path)
	})
}
