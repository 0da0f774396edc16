package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
)

func export(t testing.TB, entries []audit.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		if err := audit.WriteLine(&b, e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestAnExportProvesItselfAlsoInPartAndFormattedAnew(t *testing.T) {
	entries := chain(t, 9)
	whole := export(t, entries)
	r, err := audit.VerifyLines(bytes.NewReader(whole), entries[8].Anchor())
	if err != nil || r.Count() != 9 || r.From != (audit.Anchor{}) {
		t.Errorf("whole: %+v, %v", r, err)
	}
	r, err = audit.VerifyLines(bytes.NewReader(export(t, entries[4:])), entries[3].Anchor())
	if err != nil || r.Count() != 5 || r.From != entries[3].Anchor() {
		t.Errorf("in part: %+v, %v", r, err)
	}
	var anew bytes.Buffer
	for l := range bytes.Lines(whole) {
		var v map[string]any
		if err := json.Unmarshal(l, &v); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(v) // other order of keys
		anew.Write(text)
		anew.WriteString("\n\n")
	}
	if r, err = audit.VerifyLines(&anew); err != nil || r.Count() != 9 {
		t.Errorf("formatted anew: %+v, %v", r, err)
	}
	if r, err = audit.VerifyLines(strings.NewReader("")); err != nil || r.Count() != 0 {
		t.Errorf("empty: %+v, %v", r, err)
	}
}

func TestTamperingWithAnExportIsNamed(t *testing.T) {
	entries := chain(t, 9)
	for name, c := range map[string]struct {
		tamper func([]string) []string
		seq    int64
		fault  audit.Fault
	}{
		"a changed word":    {func(l []string) []string { l[4] = strings.Replace(l[4], "the event", "an event", 1); return l }, 5, audit.Changed},
		"a dropped line":    {func(l []string) []string { return slices.Delete(l, 4, 5) }, 5, audit.Missing},
		"two swapped lines": {func(l []string) []string { l[4], l[7] = l[7], l[4]; return l }, 5, audit.Reordered},
		"a changed previous": {func(l []string) []string {
			l[4] = strings.Replace(l[4], entries[3].Hash.String(), entries[2].Hash.String(), 1)
			return l
		}, 5, audit.Changed},
		"a foreign start": {func(l []string) []string { l[0] = strings.Replace(l[0], "0000", "0001", 1); return l }, 1, audit.Changed},
		"another start": {func(l []string) []string {
			l[4] = strings.Replace(l[4], entries[3].Hash.String(), entries[2].Hash.String(), 1)
			return l[4:]
		}, 5, audit.Changed},
	} {
		t.Run(name, func(t *testing.T) {
			lines := c.tamper(strings.SplitAfter(string(export(t, entries)), "\n"))
			_, err := audit.VerifyLines(strings.NewReader(strings.Join(lines, "")))
			var b *audit.BrokenError
			if !errors.As(err, &b) || b.Seq != c.seq || b.Fault != c.fault {
				t.Fatalf("got %v, want %s at %d", err, c.fault, c.seq)
			}
		})
	}
}

func TestWhatIsNoExportIsRefusedWithItsLine(t *testing.T) {
	good := string(export(t, chain(t, 1)))
	for name, text := range map[string]string{
		"no JSON":        good + "hello\n",
		"more beside it": good + strings.Replace(good, `{"previous"`, `{"note":"x","previous"`, 1),
		"no hash":        good + `{"previous":"` + strings.Repeat("0", 64) + `","event":{"seq":2}}` + "\n",
		"no number":      good + strings.Replace(good, `"seq":1`, `"sek":1`, 1),
		"twice a key":    good + strings.Replace(good, `"seq":1`, `"seq":1,"seq":2`, 1),
		"two on a line":  good + strings.TrimSpace(good) + good,
		"endless":        good + strings.Repeat("x", audit.MaxLine+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := audit.VerifyLines(strings.NewReader(text))
			if err == nil || !strings.Contains(err.Error(), "line 2") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzAnExportThatIsAcceptedSaysWhatItsLinesSay holds that a reader of bytes from
// anywhere never panics, and that what it takes as whole can be written again and says
// the same.
func FuzzAnExportThatIsAcceptedSaysWhatItsLinesSay(f *testing.F) {
	f.Add(export(f, chain(f, 3)))
	f.Add(export(f, chain(f, 5)[2:]))
	f.Add([]byte(`{"previous":"","hash":"","event":{}}`))
	f.Add([]byte("\n{}\n[1,2]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := audit.VerifyLines(bytes.NewReader(text))
		if err != nil {
			return
		}
		if r.Count() < 0 || r.Count() > int64(bytes.Count(text, []byte("{"))) {
			t.Fatalf("%d events in %q", r.Count(), text)
		}
		if r.Count() > 0 {
			if _, err := audit.VerifyLines(bytes.NewReader(text), r.From, r.Head); err != nil {
				t.Fatalf("its own head is no anchor of it: %v", err)
			}
		}
	})
}
