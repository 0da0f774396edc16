package cpython

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

var update = flag.Bool("update", false, "write pins.json anew from the data of the embedded module")

// moduleFile is one line of the module's own list of files.
type moduleFile struct {
	Name       string      `json:"name"`
	Size       int64       `json:"size"`
	Mode       fs.FileMode `json:"perm"`
	Symlink    string      `json:"symlink"`
	Compressed bool        `json:"compressed"`
}

func TestPinsAreWhatTheEmbeddedModuleHolds(t *testing.T) {
	data := moduleData(t)
	pins, err := readPins()
	if err != nil {
		t.Fatal(err)
	}
	platforms := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64"}
	derived := map[string]pin{}
	for _, platform := range platforms {
		if !*update && testing.Short() && platform != runtime.GOOS+"/"+runtime.GOARCH {
			continue
		}
		derived[platform] = derivePin(t, data, platform)
		if !*update && !reflect.DeepEqual(derived[platform], pins[platform]) {
			t.Errorf("%s: pins.json says %+v, the module holds %+v: run this test with -update", platform, pins[platform], derived[platform])
		}
	}
	if !*update {
		return
	}
	out, err := json.MarshalIndent(derived, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("pins.json", append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// moduleData finds the module's data on disk, where it lies for every platform.
func moduleData(t *testing.T) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is needed to find the module's data")
	}
	out, err := exec.CommandContext(t.Context(), goTool, "list", "-m", "-f", "{{.Dir}}", "github.com/kluctl/go-embed-python").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("the source of the embedded module is not at hand: %v", err)
	}
	return filepath.Join(dir, "python", "internal", "data")
}

func derivePin(t *testing.T, data, platform string) pin {
	t.Helper()
	goos, _, _ := strings.Cut(platform, "/")
	root := filepath.Join(data, strings.ReplaceAll(platform, "/", "-"))
	files := readFileList(t, root)
	s := shape{goos}
	byName := map[string]moduleFile{}
	for _, f := range files {
		byName[f.Name] = f
	}
	kept := map[string]entry{}
	for _, f := range files {
		source := f
		if f.Symlink != "" {
			source = byName[path.Join(path.Dir(f.Name), f.Symlink)]
		}
		if s.keeps(f.Name) && !underDropped(s, f.Name) {
			kept[f.Name] = derivedEntry(t, s, root, f.Name, source)
		}
	}
	linkInterpreters(t, s, kept)
	p := pin{Version: embeddedVersion(t, data), Unwanted: map[string]int64{}}
	for _, f := range files {
		size := f.Size
		if f.Symlink != "" {
			size = byName[path.Join(path.Dir(f.Name), f.Symlink)].Size
		}
		if e, ok := kept[f.Name]; size >= worthSkipping && (!ok || e.Link != "") {
			p.Unwanted[f.Name] = size
			continue
		}
		p.Unpacked += execution.Bytes(size)
	}
	entries := slices.Collect(maps.Values(kept))
	sortEntries(entries)
	p.Content = digestOf(entries, true).String()
	return p
}

// worthSkipping is the size from which a file that is trimmed is listed.
const worthSkipping = 1 << 20

func embeddedVersion(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "PYTHON_VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "PYTHON_VERSION="); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	t.Fatalf("no version in %q", text)
	return ""
}

func underDropped(s shape, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if !s.keeps(dir) {
			return true
		}
	}
	return false
}

func linkInterpreters(t *testing.T, s shape, kept map[string]entry) {
	t.Helper()
	var names []string
	for name := range kept {
		if s.isExecutable(name) {
			names = append(names, name)
		}
	}
	exe, err := s.executable(names)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name == exe {
			continue
		}
		if kept[name].Sum != kept[exe].Sum {
			t.Fatalf("%s is not a copy of %s", name, exe)
		}
		kept[name] = entry{Path: name, Mode: fs.ModeSymlink, Link: path.Base(exe)}
	}
}

func derivedEntry(t *testing.T, s shape, root, name string, source moduleFile) entry {
	t.Helper()
	e := entry{Path: name, Mode: s.mode(source.Mode)}
	if source.Mode.IsDir() {
		return e
	}
	file := filepath.Join(root, filepath.FromSlash(source.Name))
	if source.Compressed {
		file += ".gz"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(data)
	if source.Compressed {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		t.Fatal(err)
	}
	e.Sum = hex.EncodeToString(h.Sum(nil))
	return e
}

func readFileList(t *testing.T, root string) []moduleFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Files []moduleFile `json:"files"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list.Files
}
