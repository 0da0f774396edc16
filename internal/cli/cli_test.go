package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// command runs one command line without a terminal.
func command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(context.Background(), Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs}, args)
	return code, out.String(), errs.String()
}

func TestWrongUsageIsExplainedAndExits121(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		message string
	}{
		"unknown command":         {[]string{"exce"}, "exec"},
		"unknown flag":            {[]string{"exec", "--tiemout", "3"}, "did you mean --timeout?"},
		"unknown flag of serve":   {[]string{"serve", "--alow", "x"}, "did you mean --allow?"},
		"bad number":              {[]string{"exec", "--timeout", "soon", "-c", "1"}, "--timeout"},
		"no code":                 {[]string{"exec"}, "no code"},
		"code twice":              {[]string{"exec", "-c", "1", "file.py"}, "both -c"},
		"two files":               {[]string{"exec", "a.py", "b.py"}, "b.py"},
		"missing file":            {[]string{"exec", "nowhere.py"}, "nowhere.py"},
		"missing stdin file":      {[]string{"exec", "-c", "1", "--stdin", "nowhere.txt"}, "nowhere.txt"},
		"stdin twice":             {[]string{"exec", "-", "--stdin", "-"}, "standard input"},
		"serve with a word":       {[]string{"serve", "now"}, `"now"`},
		"doctor with a word":      {[]string{"doctor", "please"}, `"please"`},
		"install without client":  {[]string{"install"}, "claude-code"},
		"unknown client":          {[]string{"install", "--client", "emacs"}, "emacs"},
		"unknown snippet":         {[]string{"install", "--client", "emacs", "--print"}, "langchain"},
		"install with a word":     {[]string{"install", "cursor"}, "after --"},
		"serve flag misspelt":     {[]string{"install", "--client", "cursor", "--", "--gaer", "x"}, "did you mean --gear?"},
		"word among serve flags":  {[]string{"install", "--client", "cursor", "--", "serve"}, `"serve"`},
		"desktop has no project":  {[]string{"install", "--client", "claude-desktop", "--project"}, "without --project"},
		"uninstall needs client":  {[]string{"uninstall"}, "--client"},
		"show without a gear":     {[]string{"gear", "show"}, "one gear"},
		"explain without a gear":  {[]string{"gear", "explain"}, "one gear"},
		"unknown status":          {[]string{"operations", "list", "--status", "rnning"}, "did you mean running?"},
		"no operations":           {[]string{"operations", "list", "--limit", "0"}, "at least 1"},
		"bad time":                {[]string{"operations", "list", "--since", "soon"}, "36h"},
		"show without an id":      {[]string{"operations", "show"}, "one operation id"},
		"delete without an id":    {[]string{"operations", "delete"}, "operation ids"},
		"unknown type":            {[]string{"audit", "list", "--type", "started!"}, "did you mean started?"},
		"bad anchor":              {[]string{"audit", "verify", "--anchor", "7"}, "SEQ:HASH"},
		"missing export":          {[]string{"audit", "verify", "nowhere.jsonl"}, "nowhere.jsonl"},
		"no number":               {[]string{"audit", "show", "first"}, "number of an event"},
		"unknown command below":   {[]string{"audit", "verfy"}, "did you mean verify?"},
		"no interpreter":          {[]string{"serve", "--python", "/nowhere/python3"}, "/nowhere/python3"},
		"another program":         {[]string{"exec", "-c", "1", "--python", "/bin/true"}, "not a Python interpreter"},
		"nothing to preload":      {[]string{"serve", "--python", "/usr/bin/python3", "--preload", ""}, "is empty"},
		"nothing more to preload": {[]string{"exec", "-c", "1", "--preload", "json", "--preload", ""}, "is empty"},
		"a name is missing":       {[]string{"install", "--client", "cursor", "--", "--preload", "json,,csv"}, "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			code, stdout, stderr := command(t, "", c.args...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			if !strings.HasPrefix(stderr, "gearbox: ") || !strings.Contains(stderr, c.message) {
				t.Errorf("stderr %q: want %q in it", stderr, c.message)
			}
		})
	}
}

func TestAFlagThatWasGivenSaysSomething(t *testing.T) {
	for _, args := range [][]string{
		{"token", "create", "a", "--gear", ""},
		{"token", "create", "a", "--tools", ""},
		{"token", "create", "a", "--tools", "execute_code,"},
		{"token", "create", "a", "--languages", ""},
		{"token", "create", "a", "--languages", "python,"},
		{"token", "create", "a", "--expires", ""},
		{"token", "create", "a", "--rate", "0"},
		{"token", "create", "a", "--concurrency", "0"},
		{"token", "create", "a", "--concurrency", ""},
		{"token", "list", "--data-dir", ""},
		{"approvals", "approve", "7f3a", "--hash", ""},
		{"approvals", "deny", "7f3a", "--message", ""},
		{"approvals", "show", "7f3a", "--file", ""},
		{"audit", "verify", "--anchor", ""},
		{"audit", "list", "--principal", ""},
		{"operations", "list", "--status", ""},
		{"connect", "--token-file", ""},
		{"install", "--client", "cursor", "--connect", ""},
		{"install", "--client", "cursor", "--gear", ""},
		{"exec", "--stdin", "", "-c", "1"},
		{"serve", "--http", ""},
		{"serve", "--unix", ""},
		{"serve", "--http-host", ""},
		{"serve", "--http-origin", ""},
		{"serve", "--tls-cert", ""},
		{"serve", "--deny", ""},
		{"serve", "--minimum-isolation", ""},
		{"config", "check", "--gear", ""},
	} {
		alone(t)
		t.Setenv("HOME", t.TempDir())
		dir := os.Getenv("GEARBOX_DATA_DIR")
		code, stdout, stderr := command(t, "", args...)
		if code != exitUsage && !(args[0] == "config" && code == exitFailed) || stdout != "" || !strings.Contains(stderr, "--") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
			t.Errorf("%q: made %v, %v", args, made, err)
		}
	}
}

func TestMalformedProgramsAreRejectedBeforeAnythingStarts(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		message string
	}{
		"empty":             {[]string{"-c", ""}, "empty"},
		"NUL":               {[]string{"-c", "print('\x00')"}, "U+0000"},
		"not UTF-8":         {[]string{"-c", "print('\xff')"}, "UTF-8"},
		"unknown language":  {[]string{"--language", "cobol", "-c", "1"}, "cobol"},
		"negative timeout":  {[]string{"--timeout", "-1", "-c", "1"}, "timeout_seconds"},
		"zero timeout":      {[]string{"--timeout", "0", "-c", "1"}, "timeout_seconds"},
		"timeout too long":  {[]string{"--timeout", "1e9", "-c", "1"}, "300"},
		"timeout no number": {[]string{"--timeout", "NaN", "-c", "1"}, "timeout_seconds"},
		"too large":         {[]string{"-"}, "1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, strings.Repeat("#", 2<<20), append([]string{"exec"}, c.args...)...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, "nothing was run") || !strings.Contains(stderr, c.message) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			code, stdout, _ = command(t, strings.Repeat("#", 2<<20), append([]string{"exec", "--json"}, c.args...)...)
			if code != exitUsage || !strings.Contains(stdout, `"status":"rejected"`) || !strings.Contains(stdout, `"INVALID_ARGUMENT"`) {
				t.Errorf("with --json: exit code %d, stdout %q", code, stdout)
			}
		})
	}
}

func TestHelpDocumentsTheExitCodes(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"exec", "--help"}} {
		code, stdout, _ := command(t, "", args...)
		if code != 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
		for _, want := range []string{"120", "121", "122", "124", "125", "130", "128+n"} {
			if !strings.Contains(stdout, "  "+want+" ") {
				t.Errorf("%v: %s is not documented", args, want)
			}
		}
	}
}

func TestVersionNamesGearboxGoAndPython(t *testing.T) {
	code, stdout, _ := command(t, "", "version")
	if code != 0 || !strings.HasPrefix(stdout, "gearbox ") || !strings.Contains(stdout, "\ngo 1.") || !strings.Contains(stdout, "\npython ") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	if got := embeddedPython("v0.0.0-3.14.6-20260610-1"); got != "3.14.6" {
		t.Errorf("Python %q", got)
	}
}

func TestTemporaryBinariesAreNotInstalled(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build2345/b001/exe/gearbox": true, "/home/ada/go/bin/gearbox": false, "/srv/my-go-build/gearbox": false,
	} {
		if got := temporary(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
