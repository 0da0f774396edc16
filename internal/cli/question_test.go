package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func asked(code string, asks ...execution.Asked) execution.Record {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return execution.Record{
		ID: "op_a", State: execution.StatePending, Gear: "user_confirmed",
		Request:  execution.Request{Principal: execution.Local, Language: execution.Python, Code: code},
		Approval: &execution.Approval{Summary: "It asks.", Asked: asks, Created: now, Expires: now.Add(time.Hour)},
	}
}

func drawn(columns int, r execution.Record) string {
	var b bytes.Buffer
	picture{w: &b, columns: columns, rulesFile: "/d/rules.yaml"}.question(r, r.Approval.Created.Add(time.Minute))
	return b.String()
}

func TestALineOfAProgramCannotPassForAnother(t *testing.T) {
	const columns = 40
	// Broken by the terminal at its edge, the second half would look like line 2.
	forged := "x = 1  # " + strings.Repeat(".", columns-len("  1 | x = 1  # ")) + "  2 | harmless()"
	got := drawn(columns, asked(forged+"\nharmful()\n", execution.Asked{Kind: "run", Target: "mount", Allow: "run(mount)"}))
	for line := range strings.Lines(got) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > columns {
			t.Errorf("too long for the terminal: %q", line)
		}
	}
	if strings.Contains(got, "\n  2 | harmless") || !strings.Contains(got, "\n    :   2 | harmless") || !strings.Contains(got, "\n  2 | harmful()") {
		t.Errorf("%s", got)
	}
}

func TestNothingThatCameWithACallIsPrintedAsItIs(t *testing.T) {
	const hostile = "a\u202e\x1b[2J\rb\u2028c"
	r := asked(hostile, execution.Asked{Kind: "run", Target: hostile, Reason: hostile, Line: 1, Source: hostile, Allow: "run(mount)"})
	r.Approval.Summary, r.Request.Principal, r.Gear, r.Request.Client.Name = hostile, hostile, hostile, hostile
	r.Request.Stdin, r.Request.Variables = []byte(hostile), map[string]json.RawMessage{hostile: json.RawMessage(`"` + hostile + `"`)}
	r.Request.Files = []execution.File{{Path: hostile, Data: []byte(hostile)}}
	r.Approval.Answer = &execution.Answer{Verdict: execution.Refused, By: hostile, Message: hostile}
	got := drawn(0, r)
	if strings.ContainsAny(got, "\u202e\x1b\r\u2028") {
		t.Errorf("%q", got)
	}
	if n := strings.Count(got, "a⟨U+202E⟩⟨U+001B⟩[2J⟨U+000D⟩b⟨U+2028⟩c"); n < 12 {
		t.Errorf("%d times in\n%s", n, got)
	}
}

func TestWhatIsTooMuchToReadIsCountedAndHashed(t *testing.T) {
	r := asked("1")
	r.Request.Stdin = bytes.Repeat([]byte("line\n"), mostInput)
	r.Request.Variables = map[string]json.RawMessage{"v": json.RawMessage(`"` + strings.Repeat("é", mostInput) + `"`)}
	got := drawn(0, r)
	if len(got) > 5*mostInput || !strings.Contains(got, fmt.Sprintf("and %d bytes more", 4*mostInput)) || !strings.Contains(got, "sha256:"+hashOf(r.Request.Stdin)) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAQuestionThatCannotBeAllowedForGoodSaysSo(t *testing.T) {
	got := drawn(0, asked("1", execution.Asked{Kind: "run", Target: "mount"}))
	if !strings.Contains(got, `no "always": run(mount) cannot be allowed for good`) || strings.Contains(got, "rules.yaml") {
		t.Errorf("%s", got)
	}
}

func TestAFileIsFoundByTheNameThatIsShown(t *testing.T) {
	files := []execution.File{{Path: "hel⟨U+200B⟩per.py", Data: []byte("literal")}, {Path: "hel\u200bper.py", Data: []byte("hidden")}, {Path: "a b.py", Data: []byte("plain")}}
	for name, want := range map[string]string{
		"hel⟨U+200B⟩per.py": "hidden", "hel\u200bper.py": "hidden", "hel⟨U+27E8⟩U+200B⟩per.py": "literal", "a b.py": "plain", "helper.py": "",
	} {
		got := ""
		if f := fileShownAs(files, name); f != nil {
			got = string(f.Data)
		}
		if got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
}
