package serverfile

import (
	"strings"
	"testing"
)

func TestWhatExpandsToWhat(t *testing.T) {
	x := expander{options: Options{
		Home: "/home/ada", Workspace: "/src/thing",
		Lookup: func(name string) (string, bool) {
			v, ok := map[string]string{"A": "a", "EMPTY": "", "NEST": "${A}", "INPUT_API_KEY_2": "in", "ZERO": "a\x00b"}[name]
			return v, ok
		},
	}, env: map[string]string{"A": "weaker", "FROM_FILE": "f"}}
	for in, want := range map[string]string{
		"":                             "",
		"plain $A $ $$ %A% `id` $(id)": "plain $A $ $$ %A% `id` $(id)",
		"${A}":                         "a",
		"x${A}y${env:A}z":              "xayaz",
		"${EMPTY}":                     "",
		"${EMPTY:-d}":                  "d",
		"${NOT:-d e}":                  "d e",
		"${NOT:-}":                     "",
		"${env:NOT:-d}":                "d",
		"${A:-d}":                      "a",
		"${NEST}":                      "${A}",
		"${FROM_FILE}":                 "f",
		"${userHome}/x":                "/home/ada/x",
		"${workspaceFolder}":           "/src/thing",
		"${workspaceFolderBasename}":   "thing",
		"${input:api-key.2}":           "in",
		"$${A}":                        "${A}",
		"$$${A}":                       "$${A}",
		"a}b":                          "a}b",
	} {
		if got, err := x.expand(in); err != nil || got != want {
			t.Errorf("%q expands to %q, %v: want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"${NOT}":         "${NOT} is not set",
		"${input:other}": "INPUT_OTHER",
		"${config:x}":    "not known here",
		"${}":            "not known here",
		"${A B}":         "not known here",
		"${A":            "not closed",
		"${A:-${B}}":     "inside another",
		"${ZERO}":        "zero byte",
	} {
		if got, err := x.expand(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q expands to %q, %v: want the error %q", in, got, err, want)
		}
	}
}

func TestAnEnvFileAddsVariablesThatTheEnvironmentDoesNotHave(t *testing.T) {
	first := write(t, "first.env", "ONE=1\nTWO=2\nGITHUB_TOKEN=weaker\n")
	second := write(t, "second.env", "TWO=zwei\n")
	o := options()
	o.EnvFiles = []string{first, second}
	path := write(t, "a.json", `{"servers": {"a": {"command": "x", "args": ["${ONE}", "${TWO}", "${GITHUB_TOKEN}"]}}}`)
	c, err := Load([]string{path}, o)
	if s := server(t, c, "a"); err != nil || strings.Join(s.Command, " ") != "x 1 zwei ghp_1" || s.Env != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestABrokenEnvFileIsAnErrorThatHoldsNoValue(t *testing.T) {
	for content, want := range map[string]string{
		"A=1\nB=it's-hunter2\n": ":2: is no NAME=value: unmatched '",
		"hunter2\n":             ":1: is no NAME=value: missing =",
		"A=ab#hunter2\n":        ":1: a # with no space before it",
		"A=hunter2\x00\n":       ":1: is no NAME=value",
	} {
		o := options()
		o.EnvFiles = []string{write(t, "a.env", content)}
		_, err := Load([]string{write(t, "a.json", `{"servers": {}}`)}, o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v: want %s", content, err, want)
		}
	}
}

func TestValuesOfEnvFilesAreWhatStandsThere(t *testing.T) {
	path := write(t, "a.env", "\xef\xbb\xbf# head\nA=1\r\nexport B = \"two words\" # tail\nC='a#b'\nD=x # y\nE=\nF=$(id)\nG=\"line\\nbreak\"\nH='a' # b\nI=# only a comment\n")
	got, _, err := readEnv(path)
	want := map[string]string{"A": "1", "B": "two words", "C": "a#b", "D": "x", "E": "", "F": "$(id)", "G": "line\nbreak", "H": "a", "I": ""}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q, %v", got, err)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q: want %q", k, got[k], v)
		}
	}
}
