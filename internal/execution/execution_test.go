package execution_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestDigestTellsPartsApart(t *testing.T) {
	a := execution.DigestOf([]byte("ab"), []byte("c"))
	b := execution.DigestOf([]byte("a"), []byte("bc"))
	if a == b {
		t.Fatal("moving a byte between parts did not change the digest")
	}
	if a.IsZero() || !(execution.Digest{}).IsZero() {
		t.Fatal("zero digests are told wrongly")
	}
}

func TestIDsAreLongAndDifferent(t *testing.T) {
	a, b := execution.NewID(), execution.NewID()
	if a == b || len(a) != len("op_")+32 {
		t.Fatalf("%s %s", a, b)
	}
}

func TestLanguageAliasesAreReadWithoutRegardToCase(t *testing.T) {
	for in, want := range map[string]execution.Language{
		"": execution.Python, "Python": execution.Python, " PY ": execution.Python, "python3": execution.Python,
		"bash": execution.Bash, "SH": execution.Bash, "shell": execution.Bash,
	} {
		if got, err := execution.ParseLanguage(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if _, err := execution.ParseLanguage("perl"); err == nil || !strings.Contains(err.Error(), "python") {
		t.Errorf("perl: %v", err)
	}
}

func TestLevelsAreOrderedWeakestFirst(t *testing.T) {
	levels := execution.Levels()
	for i, l := range levels {
		for j, m := range levels {
			if l.AtLeast(m) != (i >= j) {
				t.Errorf("%s at least %s: %v", l, m, l.AtLeast(m))
			}
		}
	}
	if execution.Level("").AtLeast(execution.LevelNone) {
		t.Error("no level at all passes as none")
	}
}

func TestSizesAreReadAndPrinted(t *testing.T) {
	for in, want := range map[string]execution.Bytes{
		"64 MiB": 64 << 20, "512m": 512 << 20, "100k": 100 << 10, "1g": 1 << 30, "17": 17, "0": 0,
	} {
		got, err := execution.ParseBytes(in)
		if err != nil || got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
		if again, err := execution.ParseBytes(got.String()); err != nil || again != got {
			t.Errorf("%q does not survive printing: %v, %v", in, again, err)
		}
	}
	for _, in := range []string{"", "-1", "1.5g", "many", "99999999999g"} {
		if _, err := execution.ParseBytes(in); err == nil {
			t.Errorf("%q was accepted", in)
		}
	}
}

func TestSourceIsNormalised(t *testing.T) {
	got, err := execution.NormaliseSource("\ufeffa = 1\r\nb = 2\rc = '\ufeff'\n")
	if err != nil || got != "a = 1\nb = 2\nc = '\ufeff'\n" {
		t.Fatalf("%q, %v", got, err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestMalformedCallsAreRejectedByField(t *testing.T) {
	ok := "print(1)"
	cases := map[string]struct {
		args  execution.Arguments
		field string
	}{
		"empty code":        {execution.Arguments{Code: " \n\t"}, "code"},
		"two megabytes":     {execution.Arguments{Code: strings.Repeat("#", 2<<20)}, "code"},
		"NUL":               {execution.Arguments{Code: "a\x00b"}, "code"},
		"escape character":  {execution.Arguments{Code: "print('\x1b[31m')"}, "code"},
		"C1 control":        {execution.Arguments{Code: "a = '\u0085'"}, "code"},
		"not UTF-8":         {execution.Arguments{Code: "a = '\xff'"}, "code"},
		"unknown language":  {execution.Arguments{Code: ok, Language: "cobol"}, "language"},
		"negative timeout":  {execution.Arguments{Code: ok, TimeoutSeconds: ptr(-1.0)}, "timeout_seconds"},
		"zero timeout":      {execution.Arguments{Code: ok, TimeoutSeconds: ptr(0.0)}, "timeout_seconds"},
		"endless timeout":   {execution.Arguments{Code: ok, TimeoutSeconds: ptr(math.Inf(1))}, "timeout_seconds"},
		"NaN timeout":       {execution.Arguments{Code: ok, TimeoutSeconds: ptr(math.NaN())}, "timeout_seconds"},
		"variable name":     {execution.Arguments{Code: ok, Variables: vars("1x")}, "variables"},
		"keyword variable":  {execution.Arguments{Code: ok, Variables: vars("class")}, "variables"},
		"dunder variable":   {execution.Arguments{Code: ok, Variables: vars("__builtins__")}, "variables"},
		"absolute path":     {file("/etc/passwd"), "files[0].path"},
		"path that climbs":  {file("../x"), "files[0].path"},
		"path climbs later": {file("a/../../x"), "files[0].path"},
		"unclean path":      {file("a//b"), "files[0].path"},
		"NUL in path":       {file("a\x00b"), "files[0].path"},
		"newline in path":   {file("a\nb"), "files[0].path"},
		"tab in path":       {file("a\tb"), "files[0].path"},
		"escape in path":    {file("a\x1b[2Jb"), "files[0].path"},
		"C1 in path":        {file("a\u009bb"), "files[0].path"},
		"no width in path":  {file("ok", "hel\u200bper.py"), "files[1].path"},
		"direction in path": {file("a\u202eyp.b"), "files[0].path"},
		"separator in path": {file("a\u2028b"), "files[0].path"},
		"other space":       {file("a\u00a0b"), "files[0].path"},
		"filler in path":    {file("a\u3164b"), "files[0].path"},
		"selector in path":  {file("a\ufe0fb"), "files[0].path"},
		"tag in path":       {file("a\U000e0041b"), "files[0].path"},
		"empty path":        {file(""), "files[0].path"},
		"neither content":   {execution.Arguments{Code: ok, Files: []execution.FileArgument{{Path: "a"}}}, "files[0]"},
		"bad base64":        {execution.Arguments{Code: ok, Files: []execution.FileArgument{{Path: "a", Base64: ptr("?")}}}, "files[0].base64"},
		"same file twice":   {file("a", "a"), "files[1].path"},
		"file as directory": {file("a", "a/b/c"), "files"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.args.Code == "" {
				c.args.Code = ok
			}
			_, err := c.args.Request(execution.Local, execution.Client{})
			var rejected *execution.RejectedError
			if !errors.As(err, &rejected) {
				t.Fatalf("accepted, or another error: %v", err)
			}
			if rejected.Field != c.field || rejected.Code != execution.CodeInvalidArgument || rejected.Message == "" {
				t.Fatalf("%+v, want field %s", rejected, c.field)
			}
		})
	}
}

func vars(name string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage("1")}
}

func file(paths ...string) execution.Arguments {
	a := execution.Arguments{Code: "1"}
	for _, p := range paths {
		a.Files = append(a.Files, execution.FileArgument{Path: p, Text: ptr("x")})
	}
	return a
}

func TestAPathWhoseCharactersShowIsTaken(t *testing.T) {
	for _, p := range []string{"a b.py", "größe/数据.csv", "e\u0301.txt", "😀.txt", "⟨x⟩", "..a", "'\"\\"} {
		if _, err := file(p).Request(execution.Local, execution.Client{}); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	_, err := file("hel\u200bper.py").Request(execution.Local, execution.Client{})
	if err == nil || !strings.Contains(err.Error(), "U+200B") || !strings.Contains(err.Error(), `hel\u200bper.py`) || strings.ContainsRune(err.Error(), 0x200b) {
		t.Errorf("%v", err)
	}
}

func TestWaitHasADefaultAndARange(t *testing.T) {
	if d, err := execution.WaitSeconds(nil); err != nil || d != execution.DefaultWait {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := execution.WaitSeconds(ptr(0.0)); err != nil || d > 1 {
		t.Errorf("zero: %v, %v", d, err)
	}
	if _, err := execution.WaitSeconds(ptr(601.0)); err == nil {
		t.Error("601 seconds were accepted")
	}
}

func FuzzNormalisedSourceIsStable(f *testing.F) {
	f.Add("print(1)\r\n")
	f.Add("\ufeff\rx")
	f.Fuzz(func(t *testing.T, code string) {
		once, err := execution.NormaliseSource(code)
		if err != nil {
			return
		}
		if strings.ContainsRune(once, '\r') {
			t.Fatalf("a carriage return survives in %q", once)
		}
		twice, err := execution.NormaliseSource(once)
		if err == nil && twice != once && !strings.HasPrefix(once, "\ufeff") {
			t.Fatalf("%q becomes %q", once, twice)
		}
	})
}

func TestOnlyTwoStatusesCanStillChange(t *testing.T) {
	var open []execution.Status
	for _, s := range execution.Statuses() {
		if !s.Final() {
			open = append(open, s)
		}
	}
	slices.Sort(open)
	if !slices.Equal(open, []execution.Status{execution.StatusPendingApproval, execution.StatusRunning}) {
		t.Fatalf("%v", open)
	}
}

// TestAVariableIsTakenInTheFormInWhichItIsKept: records write values without white space, and
// a program that was asked about in another form would be asked about again after every yes.
func TestAVariableIsTakenInTheFormInWhichItIsKept(t *testing.T) {
	r, err := execution.Arguments{Code: "1", Variables: map[string]json.RawMessage{
		"a": json.RawMessage(" { \"x\" : [ 1.0, \"<&> \u2028\" ] }\n"),
	}}.Request(execution.Local, execution.Client{})
	if err != nil || string(r.Variables["a"]) != "{\"x\":[1.0,\"<&> \u2028\"]}" {
		t.Errorf("%s %v", r.Variables["a"], err)
	}
	_, err = execution.Arguments{Code: "1", Variables: map[string]json.RawMessage{"a": json.RawMessage("{")}}.Request(execution.Local, execution.Client{})
	if rejected := new(execution.RejectedError); !errors.As(err, &rejected) || rejected.Field != "variables" {
		t.Errorf("%v", err)
	}
}
