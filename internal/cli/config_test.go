package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	pages "text/template"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

const (
	configurationPage   = "../../docs/configuration.md"
	configurationSchema = "../../docs/gearbox.schema.json"
)

// golden compares with a file, or rewrites it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s is not what it was (%v); -update rewrites it. Now:\n%s", path, err, got)
	}
}

// alone takes every setting out of the environment.
func alone(t *testing.T) {
	t.Helper()
	for _, s := range (&settings{}).table() {
		t.Setenv(s.Variable(), "")
	}
	t.Setenv("MCP_EXECUTOR", "")
	t.Setenv("MCP_SERVERS_CONFIG", "")
	t.Setenv("GEARBOX_DATA_DIR", t.TempDir())
}

func configurations(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/config/" + pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}

func TestBrokenConfigurationFilesSayWhereWhatAndHowToMendIt(t *testing.T) {
	alone(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range configurations(t, "bad/*.yaml") {
		l, err := load(parsed(t, "--config", path))
		if err == nil {
			err = l.check()
		}
		if err == nil {
			t.Errorf("%s was accepted", path)
			continue
		}
		text := filepath.ToSlash(strings.ReplaceAll(err.Error(), here+string(filepath.Separator), ""))
		golden(t, strings.TrimSuffix(path, ".yaml")+".golden", text+"\n")
		var place *strictyaml.FileError
		if !errors.As(err, &place) || place.Line == 0 {
			t.Errorf("%s: no place in %v", path, err)
		}
	}
}

func parsed(t testing.TB, args ...string) *config.Given {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	given := (&settings{}).table().Declare(fs, nil)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return given
}

func TestWhatIsPrintedReadsBackToTheSameSettings(t *testing.T) {
	alone(t)
	for _, path := range configurations(t, "good/*.yaml") {
		first, err := load(parsed(t, "--config", path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text := first.resolved.YAML()
		again := filepath.Join(t.TempDir(), "again.yaml")
		if err := os.WriteFile(again, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		second, err := load(parsed(t, "--config", again))
		if err != nil || !sameSettings(first, second) {
			t.Errorf("%s: %v: prints differently from how it was read:\n%s", path, err, text)
		}
		if fit := fits(t, []byte(text)); fit != nil {
			t.Errorf("%s: the schema refuses what is printed: %v", path, fit)
		}
		if path == "testdata/config/good/everything.yaml" {
			values, _, _ := strings.Cut(text, "# --")
			golden(t, "testdata/config/good/everything.golden", values)
		}
	}
}

func TestAPrintedConfigurationOfFlagsAndVariablesIsAFileThatSaysTheSame(t *testing.T) {
	alone(t)
	t.Setenv("GEARBOX_ALLOW", "net(a.example:{80,443}), run(git)")
	t.Setenv("GEARBOX_POOL_MAX", "9")
	t.Setenv("GEARBOX_PRELOAD", "json\nxml.dom")
	first, err := load(parsed(t, "--deny", "run(rm)", "--deny", "net(b.example, c.example)", "--python", "/usr/bin/python3", "--log-level", "warn", "--allow-full-trust"))
	if err != nil {
		t.Fatal(err)
	}
	alone(t)
	path := filepath.Join(os.Getenv("GEARBOX_DATA_DIR"), config.FileName)
	if err := os.WriteFile(path, []byte(first.resolved.YAML()), 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := load(parsed(t))
	if err != nil || !sameSettings(first, second) {
		t.Errorf("%v: %s\n%s", err, first.resolved.YAML(), second.resolved.YAML())
	}
}

// sameSettings compares all but where the values and the file come from.
func sameSettings(a, b *loaded) bool {
	values := func(l *loaded) string {
		shown := slices.DeleteFunc(l.resolved.Settings(), func(s config.Shown) bool { return s.Key == "" })
		for i := range shown {
			shown[i].From = ""
		}
		text, err := json.Marshal(shown)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	return values(a) == values(b)
}

// fits validates YAML by the published schema.
func fits(t testing.TB, text []byte) error {
	t.Helper()
	schema, err := (&settings{}).table().Schema().Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return validate(schema, text)
}

func validate(schema *jsonschema.Resolved, text []byte) error {
	translated, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(translated, &v); err != nil {
		return err
	}
	if v == nil { // an empty file
		return nil
	}
	return schema.Validate(v)
}

func TestTheSchemaRefusesWhatHasAnUnknownKeyOrAWrongType(t *testing.T) {
	for _, path := range configurations(t, "bad/*.yaml") {
		switch filepath.Base(path) {
		case "unknown_keys.yaml", "wrong_types.yaml", "values.yaml":
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if fits(t, text) == nil {
				t.Errorf("the schema accepts %s", path)
			}
		}
	}
}

func TestEverySettingIsFoundInEachPlaceAndDescribed(t *testing.T) {
	page, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	table := (&settings{}).table()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	table.Declare(flags, nil)
	seen := map[string]bool{}
	for _, s := range table {
		for _, name := range []string{s.Key, s.Flag, s.Variable()} {
			if name == "" && s.Flag != config.FlagFile && s.Flag != config.FlagDataDir || name != "" && name != s.Flag && seen[name] {
				t.Errorf("%s: the name %q is missing or taken", s.Flag, name)
			}
			seen[name] = true
		}
		if s.Default == "" || s.Usage == "" || strings.HasSuffix(s.Usage, ".") {
			t.Errorf("%s: default %q, usage %q", s.Flag, s.Default, s.Usage)
		}
		if f := flags.Lookup(s.Flag); f == nil || !strings.Contains(f.Usage, s.Usage) {
			t.Errorf("%s has no flag", s.Flag)
		}
		for _, name := range []string{s.Key, "--" + s.Flag, s.Variable()} {
			if !strings.Contains(string(page), "`"+name+"`") && name != "" {
				t.Errorf("%s is not in %s", name, configurationPage)
			}
		}
		if s.Key != "" && !slices.ContainsFunc(keysOf(table.Schema(), ""), func(k string) bool { return k == s.Key }) {
			t.Errorf("%s is not in the schema", s.Key)
		}
	}
}

func keysOf(s *jsonschema.Schema, at string) []string {
	var out []string
	for name, p := range s.Properties {
		out = append(append(out, at+name), keysOf(p, at+name+".")...)
	}
	return out
}

func TestDocumentationOfTheConfigurationIsUpToDate(t *testing.T) {
	page, err := pages.ParseFiles("testdata/configuration.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ Backend, Words string }
	var executors []row
	byBackend := map[string][]string{}
	for word, backend := range mcpExecutor().Words {
		byBackend[backend] = append(byBackend[backend], "`"+word+"`")
	}
	for _, backend := range []string{"linux", "wasm", "oci"} {
		executors = append(executors, row{backend, strings.Join(slices.Sorted(slices.Values(byBackend[backend])), ", ")})
	}
	var servers []string
	table := (&settings{}).table()
	for _, s := range table {
		if section, _, nested := strings.Cut(s.Key, "."); s.ServerOnly && nested && !slices.Contains(servers, "`"+section+"`") {
			servers = append(servers, "`"+section+"`")
		}
	}
	var out strings.Builder
	if err := page.Execute(&out, map[string]any{"Table": table.Markdown(), "Executors": executors, "ServerOnly": strings.Join(servers, " and ")}); err != nil {
		t.Fatal(err)
	}
	golden(t, configurationPage, out.String())

	schema, err := json.MarshalIndent(table.Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, configurationSchema, string(schema)+"\n")
}

func TestTheStrongestPlaceWinsAndRulesAddUp(t *testing.T) {
	alone(t)
	dir := os.Getenv("GEARBOX_DATA_DIR")
	file := "gear: restricted\nrules: {deny: [run(a)]}\npool: {size: 1, max: 2, idle: 1m}\ncompat: [python-interpreter]\n"
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GEARBOX_POOL_SIZE", "2")
	t.Setenv("GEARBOX_POOL_MAX", "3")
	t.Setenv("GEARBOX_DENY", "run(b), net(x.example:{80,443})")
	t.Setenv("GEARBOX_COMPAT", "mcp-run-python")
	l, err := load(parsed(t, "--pool-max", "4", "--deny", "run(c)"))
	if err != nil {
		t.Fatal(err)
	}
	o := l.server
	if o.Gear != "restricted" || *o.Pool.Size != 2 || *o.Pool.Max != 4 || o.Pool.Idle.String() != "1m0s" || !slices.Equal(o.Compat, []string{"mcp-run-python"}) {
		t.Errorf("%+v", o)
	}
	var want []policy.Rule
	for _, r := range [][2]string{{"run(a)", "gearbox.yaml"}, {"run(b)", "GEARBOX_DENY"}, {"net(x.example:{80,443})", "GEARBOX_DENY"}, {"run(c)", "option --deny"}} {
		rule, err := policy.ParseRule(r[0])
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, rule.From(r[1]))
	}
	if !reflect.DeepEqual(o.Rules.Deny, want) {
		t.Errorf("%+v", o.Rules.Deny)
	}
	for flag, want := range map[string]string{"gear": filepath.Join(dir, config.FileName) + ":1:7", "pool-size": "GEARBOX_POOL_SIZE", "pool-max": "--pool-max", "python": "default"} {
		if got := l.resolved.From(flag).String(); got != want {
			t.Errorf("%s comes from %s, want %s", flag, got, want)
		}
	}
}

func TestOtherServersVariableChoosesTheBackendWhereNothingOfOursDoes(t *testing.T) {
	for word, want := range map[string]string{
		"local": "linux", "native": "linux", "linux": "linux", "pyodide": "wasm", "sandbox": "wasm", "deno": "wasm", "wasm": "wasm",
		"docker": "oci", "oci": "oci", " Docker ": "oci", "": "",
	} {
		alone(t)
		t.Setenv("MCP_EXECUTOR", word)
		l, err := load(parsed(t))
		if err != nil || l.server.Backend != want || len(l.resolved.Warnings) != 0 {
			t.Errorf("%q: %v %+v", word, err, l)
		}
	}
	alone(t)
	t.Setenv("MCP_EXECUTOR", "podman")
	if _, err := load(parsed(t)); err == nil || !strings.Contains(err.Error(), `MCP_EXECUTOR "podman"`) || !strings.Contains(err.Error(), "docker") {
		t.Errorf("podman: %v", err)
	}
	for _, word := range []string{"podman", "deno"} {
		t.Setenv("MCP_EXECUTOR", word)
		l, err := load(parsed(t, "--backend", "linux"))
		if err != nil || l.server.Backend != "linux" || len(l.resolved.Warnings) != 1 || !strings.Contains(l.resolved.Warnings[0], "MCP_EXECUTOR="+word) {
			t.Errorf("beside --backend: %v %+v", err, l)
		}
	}
	t.Setenv("MCP_EXECUTOR", "native")
	t.Setenv("GEARBOX_BACKEND", "linux")
	if l, err := load(parsed(t)); err != nil || len(l.resolved.Warnings) != 0 {
		t.Errorf("agreeing: %v %+v", err, l)
	}
}

func TestFilesOfServersAreNamedByAnyPlaceOrStandInTheConfigurationItself(t *testing.T) {
	alone(t)
	dir := os.Getenv("GEARBOX_DATA_DIR")
	path := filepath.Join(dir, config.FileName)
	servers := func(args ...string) []string {
		t.Helper()
		l, err := load(parsed(t, args...))
		if err != nil {
			t.Fatal(err)
		}
		return l.server.MCPServers
	}
	if got := servers(); got != nil {
		t.Errorf("nothing was said, and there are %q", got)
	}
	t.Setenv("MCP_SERVERS_CONFIG", "theirs.json")
	if got := servers(); !slices.Equal(got, []string{"theirs.json"}) {
		t.Errorf("by the variable of another server there are %q", got)
	}
	for text, want := range map[string][]string{
		"mcp_servers: [a.json, /b.toml]\n":                              {filepath.Join(dir, "a.json"), "/b.toml"},
		"mcp_servers: []\n":                                             {},
		"mcp_servers:\n  github: {command: x, env: {TOKEN: hunter2}}\n": {path},
		"mcp_servers: {}\n":                                             {path},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := load(parsed(t))
		if err != nil || l.server.MCPServers == nil || !slices.Equal(l.server.MCPServers, want) || len(l.resolved.Warnings) != 1 {
			t.Errorf("%s: %v, %q, %q", text, err, l.server.MCPServers, l.resolved.Warnings)
		}
		if strings.Contains(l.resolved.YAML(), "hunter2") {
			t.Errorf("what stands in the file was printed:\n%s", l.resolved.YAML())
		}
	}
	if got := servers("--mcp-servers", "x.json", "--mcp-servers", "y.json"); !slices.Equal(got, []string{"x.json", "y.json"}) {
		t.Errorf("by flags there are %q", got)
	}
}

func TestAMisspeltVariableIsToldAndAWrongOneIsAnError(t *testing.T) {
	alone(t)
	t.Setenv("GEARBOX_POOL_SIZ", "4")
	t.Setenv("GEARBOX_OF_SOMEBODY_ELSE_ENTIRELY", "4")
	l, err := load(parsed(t))
	if err != nil || len(l.resolved.Warnings) != 1 || !strings.Contains(l.resolved.Warnings[0], "did you mean GEARBOX_POOL_SIZE?") {
		t.Errorf("%v %+v", err, l)
	}
	t.Setenv("GEARBOX_POOL_SIZE", "many")
	t.Setenv("GEARBOX_ALLOW_FULL_TRUST", "maybe")
	_, err = load(parsed(t, "--pool-size", "3"))
	for _, want := range []string{`GEARBOX_POOL_SIZE "many": this is no number`, `GEARBOX_ALLOW_FULL_TRUST "maybe": write true or false`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %q is not in it", err, want)
		}
	}
}

func TestPathsInAFileCountFromItsDirectory(t *testing.T) {
	alone(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(path, []byte("gear: gears/x.yaml\npython: ~/envs/data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := load(parsed(t, "--config", path))
	if err != nil || l.server.Gear != filepath.Join(dir, "gears/x.yaml") || l.server.Python != filepath.Join(home, "envs/data") {
		t.Errorf("%v %+v", err, l)
	}
}

func TestAFileThatIsNamedHasToBeThereAndPrivate(t *testing.T) {
	alone(t)
	if _, err := load(parsed(t, "--config", filepath.Join(t.TempDir(), "none.yaml"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := load(parsed(t, "--config", t.TempDir())); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a directory: %v", err)
	}
	path := filepath.Join(t.TempDir(), "open.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := load(parsed(t, "--config", path)); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("for everybody: %v", err)
	}
}

func TestAConfigurationIsAsItShouldBeWhereAServerWouldStart(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(broken, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args       []string
		file       string // of the configuration
		tokens     string
		want, also string
	}{
		"open to everybody":     {args: []string{"--http", "1.2.3.4:80"}, want: "there is no token"},
		"half of TLS":           {args: []string{"--http", "127.0.0.1:0", "--tls-cert", broken}, want: "go together"},
		"TLS files not there":   {args: []string{"--http", "127.0.0.1:0", "--tls-cert", "/none.pem", "--tls-key", "/none.key"}, want: "/none.pem"},
		"no certificate":        {args: []string{"--http", "127.0.0.1:0", "--tls-cert", broken, "--tls-key", broken}, want: "find any PEM data"},
		"TLS without HTTP":      {args: []string{"--tls-cert", broken, "--tls-key", broken}, want: "for --http, which is not there"},
		"a host as an origin":   {args: []string{"--http", "127.0.0.1:0", "--http-origin", "evil.com"}, want: "is no origin"},
		"any origin":            {args: []string{"--http-origin", "*"}, want: "is no origin"},
		"any host":              {args: []string{"--http", "127.0.0.1:0", "--http-host", "*"}, want: "name of a host"},
		"no interpreter":        {args: []string{"--python", "/nope"}, want: "/nope"},
		"a socket in no place":  {args: []string{"--unix", "/nope/s.sock"}, want: "/nope"},
		"a socket on a file":    {args: []string{"--unix", broken}, want: "something else"},
		"no secret of webhooks": {args: []string{"--approvals-webhook-url", "https://a.example/", "--approvals-webhook-secret-file", "/nope"}, want: "/nope"},
		"broken tokens":         {args: []string{"--http", "127.0.0.1:0"}, tokens: "{", want: "tokens.json"},
		"told with its place":   {file: "http:\n  address: 127.0.0.1:0\n  origins: [\"https://a.example\", \"*\"]\n", want: "gearbox.yaml:3:", also: "http.origins"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			t.Setenv("HOME", t.TempDir())
			for file, text := range map[string]string{config.FileName: c.file, "tokens.json": c.tokens} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(os.Getenv("GEARBOX_DATA_DIR"), file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for words, want := range map[string]int{"config check": exitFailed, "serve": exitUsage} {
				code, stdout, stderr := command(t, "", append(strings.Fields(words), c.args...)...)
				if code != want || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, c.also) {
					t.Errorf("%s: exit code %d, stdout %q, stderr %q", words, code, stdout, stderr)
				}
			}
			if _, stdout, _ := command(t, "", "audit", "list", "--type", "config"); stdout != "" {
				t.Errorf("a server that did not start recorded %s", stdout)
			}
		})
	}
}

func TestAGearThatCannotBeIsAnErrorAlsoWhereItIsOverruled(t *testing.T) {
	for name, c := range map[string]struct {
		file, variable string
		args           []string
		want           string
	}{
		"in the file under a flag":      {"gear: nope\n", "", []string{"--gear", "restricted"}, "gearbox.yaml:1:7"},
		"in the file under a variable":  {"gear: nope\n", "restricted", nil, "gearbox.yaml:1:7"},
		"in the variable under a flag":  {"", "nope", []string{"--gear", "restricted"}, "GEARBOX_GEAR"},
		"a file of a gear is not there": {"gear: gears/nope.yaml\n", "", []string{"--gear", "restricted"}, "gearbox.yaml:1:7"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			t.Setenv("GEARBOX_GEAR", c.variable)
			if err := os.WriteFile(filepath.Join(os.Getenv("GEARBOX_DATA_DIR"), config.FileName), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, words := range [][]string{{"config", "check"}, {"config", "print"}, {"serve"}, {"exec", "-c", "1"}} {
				code, stdout, stderr := command(t, "", append(words, c.args...)...)
				if code == 0 || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "nope") {
					t.Errorf("%v: exit code %d, stdout %q, stderr %q", words, code, stdout, stderr)
				}
			}
		})
	}
	alone(t)
	t.Setenv("GEARBOX_GEAR", "read_only")
	if l, err := load(parsed(t, "--gear", "restricted")); err != nil || l.server.Gear != "restricted" {
		t.Errorf("%v", err)
	}
}

// FuzzConfigurationFile: a file is an error with its name, or prints and reads back to
// the same settings, which the schema accepts too.
func FuzzConfigurationFile(f *testing.F) {
	for _, pattern := range []string{"bad/*.yaml", "good/*.yaml"} {
		paths, err := filepath.Glob("testdata/config/" + pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		table := (&settings{}).table()
		first, err := table.Parse("/etc/gearbox.yaml", []byte(text))
		if err != nil {
			if !strings.Contains(err.Error(), "/etc/gearbox.yaml") {
				t.Errorf("no file in %v", err)
			}
			return
		}
		printed := table.Holding(first).YAML()
		second, err := table.Parse("/etc/gearbox.yaml", []byte(printed))
		if err != nil {
			t.Fatalf("%v in what was printed:\n%s", err, printed)
		}
		if again := table.Holding(second); again.Digest() != table.Holding(first).Digest() {
			t.Errorf("reads back differently:\n%s", printed)
		}
		if err := fits(t, []byte(printed)); err != nil {
			t.Errorf("the schema refuses what is printed: %v\n%s", err, printed)
		}
	})
}
