package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func textOf(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// TestLongStreamsAreCutInBothPlaces holds text and structured content together
// to the number of characters that a model is shown of one stream.
func TestLongStreamsAreCutInBothPlaces(t *testing.T) {
	for _, unit := range []string{"x", "é", "日", "😀", "line\n"} {
		stdout := "START" + strings.Repeat(unit, 200_000) + "END"
		r := execution.Result{
			Status: execution.StatusOK, OperationID: "op_1", Stdout: stdout, Stderr: strings.Repeat(unit, 30_000),
		}
		got := answer(r)
		a := got.StructuredContent.(execution.Result)
		if n := utf8.RuneCountInString(a.Stdout); n > perCopy || n < perCopy-10 {
			t.Errorf("%q: %d characters of stdout", unit, n)
		}
		if n := utf8.RuneCountInString(textOf(got)); n > 2*perCopy+100 {
			t.Errorf("%q: %d characters of text", unit, n)
		}
		for _, s := range []string{a.Stdout, textOf(got)} {
			if !utf8.ValidString(s) || !strings.HasPrefix(s, "START") || !strings.Contains(s, "END") {
				t.Errorf("%q: cut badly: %.100q", unit, s)
			}
		}
		var missing, offset int
		_, marker, _ := strings.Cut(a.Stdout, "[… ")
		if _, err := fmt.Sscanf(marker, `%d bytes of stdout are not shown here: read them with get_operation(operation_id="op_1", stream="stdout", output_offset=%d)`, &missing, &offset); err != nil {
			t.Fatalf("%q: the marker is %.200q: %v", unit, marker, err)
		}
		head, _, _ := strings.Cut(a.Stdout, "\n[… ")
		_, tail, _ := strings.Cut(a.Stdout, " …]\n")
		if offset != len(head) || stdout[:offset] != head || missing != len(stdout)-len(head)-len(tail) {
			t.Errorf("%q: %d bytes missing from %d on, but the head has %d and the tail %d of %d", unit, missing, offset, len(head), len(tail), len(stdout))
		}
		if k := a.Truncated["stdout"]; k.TotalBytes != execution.Bytes(len(stdout)) {
			t.Errorf("%q: truncated says %+v", unit, k)
		}
	}
}

func TestAStreamThatFitsIsWhole(t *testing.T) {
	stdout := strings.Repeat("日", perCopy)
	got := answer(execution.Result{Status: execution.StatusOK, Stdout: stdout})
	if a := got.StructuredContent.(execution.Result); a.Stdout != stdout || a.Truncated != nil || textOf(got) != stdout {
		t.Errorf("changed: %v", a.Truncated)
	}
}

func TestBytesThatWereNeverKeptCountAsMissing(t *testing.T) {
	r := execution.Result{
		Status: execution.StatusOK, OperationID: "op_1", Stdout: strings.Repeat("x", 50_000),
		Truncated: map[string]execution.Truncated{"stdout": {TotalBytes: 1_000_000, KeptBytes: 50_000}},
	}
	a := answer(r).StructuredContent.(execution.Result)
	if a.Truncated["stdout"] != r.Truncated["stdout"] {
		t.Errorf("truncated says %+v", a.Truncated)
	}
	var missing int
	_, marker, _ := strings.Cut(a.Stdout, "[… ")
	if _, err := fmt.Sscan(marker, &missing); err != nil || missing < 1_000_000-perCopy {
		t.Errorf("%d bytes are said to be missing", missing)
	}
}

// TestReadingOnAfterLossyOutputMissesNothing: a byte that was replaced takes
// three in the text and one in the stream.
func TestReadingOnAfterLossyOutputMissesNothing(t *testing.T) {
	r := execution.Result{Status: execution.StatusOK, OperationID: "op_1", Lossy: true, Stdout: strings.Repeat("\ufffd", 50_000)}
	s := answer(r).StructuredContent.(execution.Result).Stdout
	_, after, _ := strings.Cut(s, "output_offset=")
	var offset int
	if _, err := fmt.Sscan(after, &offset); err != nil || offset != strings.Count(s, "\ufffd")/2+strings.Count(s, "\ufffd")%2 {
		t.Errorf("offset %d after %d replaced bytes", offset, strings.Count(s, "\ufffd")/2)
	}
}

func TestValuesThatClientsCannotReadAreMended(t *testing.T) {
	for in, want := range map[string]string{
		`"\ud800"`:                 "\"\ufffd\"",
		`{"a":"x\udfffy"}`:         "{\"a\":\"x\ufffdy\"}",
		`[1,  2]`:                  `[1,2]`,
		`"😀"`:                      `"😀"`,
		`{"broken`:                 "",
		`1 2`:                      "",
		strings.Repeat("[", 20000): "",
	} {
		a := fit(execution.Result{Value: json.RawMessage(in)})
		if string(a.Value) != want {
			t.Errorf("%.40q became %q, want %q", in, a.Value, want)
		}
		if (want == "") != (len(a.Warnings) == 1) {
			t.Errorf("%.40q: warnings %q", in, a.Warnings)
		}
	}
	deep := fit(execution.Result{Value: json.RawMessage(strings.Repeat("[", 500) + strings.Repeat("]", 500))})
	if deep.Value[0] != '"' || len(deep.Warnings) != 1 {
		t.Errorf("a deep value became %.40q", deep.Value)
	}
	long := fit(execution.Result{Value: mustJSON(t, strings.Repeat("é", 100_000))})
	if n := utf8.RuneCount(long.Value); !json.Valid(long.Value) || n > 2*perCopy || len(long.Warnings) != 1 {
		t.Errorf("a long value has %d characters: %.60q", n, long.Value)
	}
}

func TestDeepRecursionShowsItsTwoEnds(t *testing.T) {
	frames := make([]string, 1000)
	for i := range frames {
		frames[i] = fmt.Sprintf("  File \"<cell>\", line %d, in f\n", i)
	}
	got := fitTraceback(frames)
	all := strings.Join(got, "")
	if len(got) != maxFrames+1 || got[0] != frames[0] || got[maxFrames] != frames[999] || !strings.Contains(all, "980 frames left out") {
		t.Errorf("%d frames: %s", len(got), all)
	}
	if short := fitTraceback(frames[:maxFrames]); len(short) != maxFrames {
		t.Errorf("%d of %d frames", len(short), maxFrames)
	}
}

func TestAnsweringLeavesTheResultAlone(t *testing.T) {
	r := execution.Result{
		Status: execution.StatusError, Stdout: strings.Repeat("x", 100_000), Value: json.RawMessage(`"\ud800"`),
		Truncated: map[string]execution.Truncated{}, Warnings: make([]string, 0, 8),
		Error: &execution.Error{Message: strings.Repeat("m", 10_000)},
	}
	answer(r)
	if len(r.Truncated) != 0 || len(r.Error.Message) != 10_000 || string(r.Value) != `"\ud800"` {
		t.Error("the engine's own result was changed")
	}
}

// FuzzCut holds cutting to what its callers rely on.
func FuzzCut(f *testing.F) {
	f.Add("hello world", 5)
	f.Add(strings.Repeat("日本語", 50), 40)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 30), 1<<16)
		c := cut(s, limit, leftOut)
		if utf8.RuneCountInString(c.text) > limit {
			t.Errorf("%d characters, at most %d", utf8.RuneCountInString(c.text), limit)
		}
		if utf8.ValidString(s) != utf8.ValidString(c.text) && utf8.ValidString(s) {
			t.Error("a character was split")
		}
		if c.shown+c.missing != len(s) || !strings.HasPrefix(s, c.text[:min(c.next, len(c.text))]) {
			t.Errorf("%d shown and %d missing of %d", c.shown, c.missing, len(s))
		}
	})
}
