package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// TestAFileIsPrintedWithTheQuestionOrItIsSaidHowToSeeIt: whole, or not at all.
func TestAFileIsPrintedWithTheQuestionOrItIsSaidHowToSeeIt(t *testing.T) {
	const how = ": gearbox approvals show op_a --file "
	text := func(n int) []byte { return []byte(strings.Repeat("0123456\n", n/8)) }
	for name, row := range map[string]struct {
		files      []execution.File
		want, none []string
	}{
		"text":        {[]execution.File{{Path: "helper.py", Data: []byte("import os\n\u202eos.remove('x')\n")}}, []string{"  helper.py, 28 B, sha256:", "\n    | import os\n    | ⟨U+202E⟩os.remove('x')\n"}, []string{how}},
		"empty":       {[]execution.File{{Path: "e"}}, []string{"\n  e, 0 B, sha256:"}, []string{how, "    | "}},
		"bytes":       {[]execution.File{{Path: "it's", Data: []byte("\xff")}}, []string{"    it is no text" + how + `'it'\''s' prints it`}, []string{"0xFF"}},
		"NUL":         {[]execution.File{{Path: "n", Data: []byte("a\x00b")}}, []string{"it is no text" + how}, []string{"a⟨"}},
		"the longest": {[]execution.File{{Path: "l", Data: text(mostInput)}}, []string{"    | 0123456"}, []string{how}},
		"too long":    {[]execution.File{{Path: "l", Data: text(mostInput + 8)}}, []string{"it is long" + how + "'l' prints it"}, []string{"0123456"}},
		"many": {
			[]execution.File{{Path: "1", Data: text(mostInput)}, {Path: "2", Data: text(mostInput)}, {Path: "3", Data: text(mostInput)}, {Path: "4", Data: text(mostInput)}, {Path: "5", Data: text(8)}},
			[]string{"all of them are long" + how + "'5' prints it"},
			[]string{how + "'4'"},
		},
	} {
		r := asked("1", execution.Asked{Kind: "run", Target: "mount"})
		r.Request.Files = row.files
		got := drawn(0, r)
		for _, want := range row.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%.2000s", name, want, got)
			}
		}
		for _, none := range row.none {
			if strings.Contains(got, none) {
				t.Errorf("%s: %q in\n%.2000s", name, none, got)
			}
		}
	}
}

func TestJSONHasAllThatCameWithACall(t *testing.T) {
	r := asked("1", execution.Asked{Kind: "run", Target: "mount"})
	long, raw := strings.Repeat("x\r\u202e", mostFiles), []byte{0xff, 0, 1}
	r.Request.Stdin = raw
	r.Request.Files = []execution.File{{Path: "long", Data: []byte(long)}, {Path: "raw", Data: raw}, {Path: "empty"}}
	var out bytes.Buffer
	if err := (&app{Streams: Streams{Out: &out}}).printLine(wholeQuestion(r)); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Stdin []byte `json:"stdin_base64"`
		Plain string `json:"stdin"`
		Files []struct {
			Text *string
			Raw  []byte `json:"base64"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	f := got.Files
	if !bytes.Equal(got.Stdin, raw) || got.Plain != "" || *f[0].Text != long || f[1].Text != nil || !bytes.Equal(f[1].Raw, raw) || f[2].Text == nil || *f[2].Text != "" {
		t.Errorf("%.300s", out.String())
	}
}
