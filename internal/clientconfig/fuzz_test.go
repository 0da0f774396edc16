package clientconfig

import (
	"bytes"
	"os"
	"testing"
)

// Both editors must give the same property for any file that they accept at all:
// adding twice is adding once, and removing gives back the same content.
func fuzzFormat(f *testing.F, form format) {
	for _, path := range []string{
		"testdata/claude-code-other-servers.before.json", "testdata/vscode-comments.before.json",
		"testdata/claude-desktop-crlf-bom.before.json", "testdata/cursor-own-entry.before.json",
		"testdata/codex-comments.before.toml", "testdata/codex-own-entry.before.toml", "testdata/codex-dotted.before.toml",
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		after, err := edited(form, data, sample)
		if err != nil {
			return
		}
		again, err := edited(form, after, sample)
		if err != nil || !bytes.Equal(again, after) {
			t.Errorf("a second edit changed %q to %q (%v)", after, again, err)
		}
		if _, err := without(form, after); err != nil {
			t.Errorf("%q cannot be undone: %v", after, err)
		}
	})
}

func FuzzJSON(f *testing.F) { fuzzFormat(f, jsonFormat{key: "servers", stdio: true}) }

func FuzzTOML(f *testing.F) { fuzzFormat(f, tomlFormat{}) }
