package serverfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// server is the one of a name.
func server(t *testing.T, c Config, name string) upstream.Spec {
	t.Helper()
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no server %q in %+v", name, c.Servers)
	return upstream.Spec{}
}

func TestAFileThatCannotBeReadStopsNoOther(t *testing.T) {
	good := write(t, "good.json", `{"servers": {"a": {"command": "x"}}}`)
	bad := write(t, "bad.json", "{\n\"servers\": {\n,}}")
	missing := filepath.Join(t.TempDir(), "missing.json")
	c, err := Load([]string{bad, missing, good}, options())
	if len(c.Servers) != 1 || c.Servers[0].Fault != "" {
		t.Errorf("the good file gave %+v", c.Servers)
	}
	if err == nil || !strings.Contains(err.Error(), bad+":3: is no JSON") || !strings.Contains(err.Error(), missing+": is not there") {
		t.Errorf("the error is %v", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error does not say that a file is missing: %v", err)
	}
}

func TestErrorsNameFileAndLine(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, row := range []struct{ name, content, want string }{
		{"a.json", `[1]`, ":1: holds a list"},
		{"a.json", "{\n\"mcpServers\": 5}", ":2: mcpServers is a number"},
		{"a.json", "{\n\n\"mcpServers\": [{\"command\": \"x\"}]}", ":3: a server in the list"},
		{"a.json", "{\"a\": /*\"*/\n" + deep + "}", ":2: nests deeper"},
		{"a.json", "{\"a\": \"\xff\"}", "is not UTF-8"},
		{"a.toml", "a = 1\nb = \n", ":2: is no TOML"},
		{"a.toml", "a = " + deep, ":1: nests deeper"},
		{"a.yaml", "a: 1\nb: [\n", "is no YAML"},
		{"a.yaml", "a: &x 1\nb: *x\n", ":1: holds"},
		{"a.yaml", "a: 1\n---\nb: 2\n", ":3: holds a second document"},
		{"a.yaml", "a: " + deep, "nests deeper"},
		{"a.yaml", "just text", ":1: holds text"},
		{"a.toml", strings.Repeat("#", maxOther+1), "is larger than"},
	} {
		path := write(t, row.name, row.content)
		c, err := Load([]string{path}, options())
		var at *FileError
		if !errors.As(err, &at) || at.File != path || !strings.Contains(err.Error(), row.want) || len(c.Servers) != 0 {
			t.Errorf("%.40q: %+v, %v: want %s", row.content, c.Servers, err, row.want)
		}
	}
}

func TestErrorsOfSyntaxHoldNoValue(t *testing.T) {
	for _, row := range []struct{ name, content string }{
		{"a.json", `{"a": "hunter2\q"}`},
		{"a.json", `{"a": hunter2}`},
		{"a.json", "{\"a\": \"hunter2\n\"}"},
		{"a.json", `{"a": "x" hunter2}`},
		{"a.toml", "a = hunter2"},
		{"a.toml", `a = "hunter2\q"`},
		{"a.yaml", "a: \"hunter2\nb: c"},
		{"a.yaml", "a: @hunter2"},
	} {
		_, err := Load([]string{write(t, row.name, row.content)}, options())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", row.content, err)
		}
	}
}

func TestWhatIsTooMuchIsRefusedAtOnce(t *testing.T) {
	many := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\"k%d\": %s,", i, value)
		}
		return b.String()
	}
	_, err := Load([]string{write(t, "a.json", `{"servers": {`+many(30_000, "{}")+`}}`)}, options())
	if err == nil || !strings.Contains(err.Error(), "30000 servers are configured: at most 256") {
		t.Errorf("many servers: %v", err)
	}
	c, err := Load([]string{write(t, "a.json", `{"servers": {"keys": {`+many(30_000, "1")+`}, "env": {"command": "x", "env": {`+many(30_000, `"1"`)+`}},
		"long": {"command": "x", "args": ["`+strings.Repeat("${LONG}", 500_000)+`"]}}}`)}, Options{
		Lookup: func(string) (string, bool) { return strings.Repeat("x", 1000), true },
	})
	for name, want := range map[string]string{"keys": "it has 30000 keys", "env": "env has 30000 names", "long": "is longer than"} {
		if f := server(t, c, name).Fault; err != nil || !strings.Contains(f, want) {
			t.Errorf("%s: %v, and the fault is %.200q", name, err, f)
		}
	}
}

func TestFilesThatEverybodyMayWriteAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such mode")
	}
	path := write(t, "a.json", `{"servers": {"a": {"command": "x"}}}`)
	if err := os.Chmod(path, 0o602); err != nil {
		t.Fatal(err)
	}
	_, err := Load([]string{path}, options())
	var at *FileError
	if !errors.As(err, &at) || at.Hint() != "chmod o-w "+path {
		t.Errorf("the error is %v", err)
	}
}

func TestADirectoryIsNoFile(t *testing.T) {
	if _, err := Load([]string{t.TempDir()}, options()); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("the error is %v", err)
	}
}

func TestTwoFilesThatDisagreeOnANameMakeItUnusableAndAreBothNamed(t *testing.T) {
	a := write(t, "a.json", `{"mcpServers": {"x": {"command": "one"}, "y": {"command": "same", "args": []}}}`)
	b := write(t, "b.toml", "[mcp_servers.y]\ncommand = 'same'\n[mcp_servers.x]\ncommand = 'two'\n")
	c, err := Load([]string{a, b, a}, options())
	if err != nil || len(c.Servers) != 2 {
		t.Fatalf("%+v, %v", c.Servers, err)
	}
	if f := server(t, c, "x").Fault; !strings.Contains(f, a+":1") || !strings.Contains(f, b+":3") {
		t.Errorf("the fault is %q", f)
	}
	if f := server(t, c, "y").Fault; f != "" {
		t.Errorf("two files say the same, and the fault is %q", f)
	}
}

func TestTwoRootsOfOneFileMayNotDisagreeEither(t *testing.T) {
	path := write(t, "a.json", "{\"mcpServers\": {\"x\": {\"command\": \"one\"}},\n\"servers\": {\"x\": {\"url\": \"https://two.example\"}}}")
	c, err := Load([]string{path}, options())
	if f := server(t, c, "x").Fault; err != nil || !strings.Contains(f, path+":1") || !strings.Contains(f, path+":2") {
		t.Errorf("%v, and the fault is %q", err, f)
	}
}

func TestAServerOfTheNameServersIsOne(t *testing.T) {
	path := write(t, "opencode.json", `{"mcp": {"servers": {"type": "local", "command": ["x"]}}}`)
	c, err := Load([]string{path}, options())
	if s := server(t, c, "servers"); err != nil || s.Fault != "" || s.Command[0] != "x" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAFileWithoutServersIsToldOf(t *testing.T) {
	for content, want := range map[string]string{
		`{"mcpServer": {"a": {"command": "x"}}}`: "did you mean mcpServers?",
		`{"github": {"command": "x"}}`:           `put "github" below "mcpServers"`,
		`{"theme": "dark"}`:                      "there is none of mcpServers",
		``:                                       "there is none of mcpServers",
	} {
		c, err := Load([]string{write(t, "a.json", content)}, options())
		if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Message, want) {
			t.Errorf("%s: %v, %v", content, c.Warnings, err)
		}
	}
}

func TestAServerThatIsGearboxItselfIsRefused(t *testing.T) {
	for command, self := range map[string]bool{
		`["gearbox", "serve"]`: true, `["/usr/bin/gearbox", "connect", "x"]`: true, `["C:\\Gearbox.exe"]`: true,
		`["/opt/gear/gearbox-dev"]`: true, `["sh", "-c", "exec gearbox serve"]`: true, `["sudo", "gearbox", "serve"]`: true,
		`["gearbox-mcp-client"]`: false, `["python", "-m", "gearbox"]`: false, `["ls", "/src/gearbox"]`: false,
	} {
		c, err := Load([]string{write(t, "a.json", `{"servers": {"a": {"command": `+command+`}}}`)}, options())
		if f := server(t, c, "a").Fault; err != nil || strings.Contains(f, "Gearbox from Gearbox") != self {
			t.Errorf("%s: %v, and the fault is %q", command, err, f)
		}
	}
}

func TestEveryFaultIsOfOneServerAlone(t *testing.T) {
	path := write(t, "a.json", `{"servers": {"bad": {"command": 1}, "unset": {"command": "${NOT_SET}"}, "good": {"command": "x"}}}`)
	c, err := Load([]string{path}, options())
	if err != nil || server(t, c, "bad").Fault == "" || server(t, c, "unset").Fault == "" || server(t, c, "good").Fault != "" {
		t.Errorf("%+v, %v", c.Servers, err)
	}
}

func TestTimesHaveTheUnitThatTheirKeyOrSizeSays(t *testing.T) {
	for key, want := range map[string]string{
		`"timeout": 30`: "30s", `"timeout": 0.5`: "500ms", `"timeout": 999`: "16m39s", `"timeout": 1000`: "1s", `"timeout": 30000`: "30s",
		`"timeout": "90s"`: "1m30s", `"timeout": "30"`: "30s", `"timeout_ms": 30`: "30ms", `"tool_timeout_sec": 2000`: "33m20s",
		`"timeout": -1`: "0s", `"timeout": 1e300`: "0s", `"timeout": true`: "0s", `"timeout": "NaN"`: "0s", `"timeout": [1]`: "0s",
	} {
		c, err := Load([]string{write(t, "a.json", `{"servers": {"a": {"command": "x", `+key+`}}}`)}, options())
		s := server(t, c, "a")
		if err != nil || s.Timeout.String() != want || (want == "0s") != (s.Fault != "") {
			t.Errorf("%s is %v (%q, %v): want %s", key, s.Timeout, s.Fault, err, want)
		}
	}
}

func TestALinkedListOfServersNamesThemInEachEntry(t *testing.T) {
	c, err := Load([]string{write(t, "config.yaml", "mcpServers:\n  - name: one\n    command: x\n")}, options())
	if s := server(t, c, "one"); err != nil || s.Fault != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTheFileOfTheDataDirectoryIsTheDefaultAndOneOfTheWorkingDirectoryIsOnlyTold(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	if got := Default(dir); got != "" {
		t.Errorf("the default is %q before there is one", got)
	}
	for _, d := range []string{dir, work} {
		if err := os.WriteFile(filepath.Join(d, FileName), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded := []string{Default(dir)}
	if loaded[0] != filepath.Join(dir, FileName) || Stray(work, loaded) != filepath.Join(work, FileName) {
		t.Errorf("the default is %q, the stray one %q", loaded[0], Stray(work, loaded))
	}
	if got := Stray(dir, loaded); got != "" {
		t.Errorf("%s is loaded and told of all the same", got)
	}
}
