package audit_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 1500, time.UTC)

// full is an event in which every field says something.
func full() audit.Event {
	return audit.Event{
		Time: noon, Type: audit.Finished, Operation: "op_a", Principal: "local",
		Client: execution.Client{Name: "editor", Version: "1.2", Session: "s"}, Instance: "4711-X", Gear: "restricted",
		Code: execution.DigestOf([]byte("1")), Permission: "net(a:443)", Decision: "deny", Rule: "default", Reason: "because <&>",
		Status: execution.StatusError, ExitCode: 3,
		Usage:   execution.Usage{Wall: 1234567 * time.Microsecond, CPU: time.Millisecond, MemoryPeak: 1 << 20},
		Details: map[string]string{"b": "2", "a": "1"},
	}
}

// chain links n events.
func chain(t testing.TB, n int) []audit.Entry {
	t.Helper()
	var entries []audit.Entry
	head := audit.Anchor{}
	for i := range n {
		e, err := audit.Link(head, audit.Event{Time: noon, Type: audit.Requested, Reason: fmt.Sprint("the event ", i+1)})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
		head = e.Anchor()
	}
	return entries
}

func each(entries []audit.Entry) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestTheTextOfAnEventIsFixed(t *testing.T) {
	e, err := audit.Link(audit.Anchor{}, full())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"client":"editor","client_version":"1.2","code_sha256":"sha256:%s","cpu_ms":1,"decision":"deny",` +
		`"details":{"a":"1","b":"2"},"duration_ms":1234.567,"exit_code":3,"gear":"restricted","instance":"4711-X",` +
		`"memory_peak_bytes":1048576,"operation_id":"op_a","permission":"net(a:443)","principal":"local","reason":"because <&>",` +
		`"rule":"default","seq":1,"session":"s","status":"error","time":"2026-03-01T12:00:00.0000015Z","type":"finished"}`
	if code := full().Code.String(); string(e.Text) != fmt.Sprintf(want, strings.TrimPrefix(code, "sha256:")) {
		t.Errorf("%s", e.Text)
	}
	if by := sha256.Sum256(append(make([]byte, 32), e.Text...)); by != e.Hash {
		t.Error("the hash is not SHA-256 of 32 zero bytes and the text")
	}
}

func TestEveryFieldComesBack(t *testing.T) {
	v := reflect.ValueOf(full())
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("the test leaves %s out", v.Type().Field(i).Name)
		}
	}
	e, err := audit.Link(audit.Anchor{}, full())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Event(); err != nil || !reflect.DeepEqual(got, full()) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsNoTextIsKeptReadable(t *testing.T) {
	e, err := audit.Link(audit.Anchor{}, audit.Event{Type: audit.Refused, Reason: "\xff\x00", Client: execution.Client{Name: strings.Repeat("é", 4)}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Event(); err != nil || got.Reason != "\ufffd\x00" {
		t.Errorf("%q, %v", got.Reason, err)
	}
	if _, err := audit.Verify(each([]audit.Entry{e}), audit.Anchor{}); err != nil {
		t.Error(err)
	}
}

func TestALongReasonIsCutWithinACharacter(t *testing.T) {
	e, err := audit.Link(audit.Anchor{}, audit.Event{Reason: "x" + strings.Repeat("é", 1<<20)})
	if err != nil || len(e.Text) > 20<<10 {
		t.Fatalf("%d bytes, %v", len(e.Text), err)
	}
	if got, _ := e.Event(); !strings.HasSuffix(got.Reason, "é …") {
		t.Errorf("%q", got.Reason[len(got.Reason)-8:])
	}
}

func TestAnUntouchedChainIsWhole(t *testing.T) {
	entries := chain(t, 9)
	r, err := audit.Verify(each(entries), audit.Anchor{}, entries[8].Anchor(), entries[3].Anchor(), audit.Anchor{})
	if err != nil || r.Head != entries[8].Anchor() || r.Count() != 9 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = audit.Verify(each(entries[4:]), entries[3].Anchor(), entries[3].Anchor())
	if err != nil || r.Count() != 5 {
		t.Errorf("the end of it: %+v, %v", r, err)
	}
	if r, err = audit.Verify(each(nil), audit.Anchor{}); err != nil || r.Count() != 0 {
		t.Errorf("nothing: %+v, %v", r, err)
	}
}

func TestEachKindOfTamperingIsNamedAtTheFirstBrokenLink(t *testing.T) {
	relink := func(c []audit.Entry, i int) []audit.Entry { // as one who knows the rules would
		head := audit.Anchor{}
		for j := range c {
			event, _ := c[j].Event()
			if j == i {
				event.Reason = "something else"
			}
			c[j], _ = audit.Link(head, event)
			head = c[j].Anchor()
		}
		return c
	}
	sound := chain(t, 9)
	for name, c := range map[string]struct {
		tamper  func([]audit.Entry) []audit.Entry
		anchors []audit.Anchor
		seq     int64
		fault   audit.Fault
	}{
		"a changed text": {func(c []audit.Entry) []audit.Entry {
			c[4].Text = bytes.Replace(c[4].Text, []byte("the event"), []byte("The event"), 1)
			return c
		}, nil, 5, audit.Changed},
		"a changed hash":          {func(c []audit.Entry) []audit.Entry { c[4].Hash[0] ^= 1; return c }, nil, 5, audit.Changed},
		"a text that is no event": {func(c []audit.Entry) []audit.Entry { c[4].Text = []byte("{"); return c }, nil, 5, audit.Changed},
		"an event made anew alone": {func(c []audit.Entry) []audit.Entry {
			c[4], _ = audit.Link(c[3].Anchor(), audit.Event{Reason: "forged"})
			return c
		}, nil, 6, audit.Changed},
		"a dropped event": {func(c []audit.Entry) []audit.Entry { return slices.Delete(c, 4, 5) }, nil, 5, audit.Missing},
		"dropped events":  {func(c []audit.Entry) []audit.Entry { return slices.Delete(c, 4, 7) }, nil, 5, audit.Missing},
		"a dropped start": {func(c []audit.Entry) []audit.Entry { return c[2:] }, nil, 1, audit.Missing},
		"two swapped":     {func(c []audit.Entry) []audit.Entry { c[4], c[6] = c[6], c[4]; return c }, nil, 5, audit.Reordered},
		"one twice":       {func(c []audit.Entry) []audit.Entry { return slices.Insert(c, 5, c[4]) }, nil, 5, audit.Reordered},
		"swapped and renamed": {func(c []audit.Entry) []audit.Entry {
			c[4], c[6] = c[6], c[4]
			c[4].Seq, c[6].Seq = 5, 7
			return c
		}, nil, 5, audit.Reordered},
		"dropped and renamed": {func(c []audit.Entry) []audit.Entry {
			c = slices.Delete(c, 4, 5)
			for i := 4; i < len(c); i++ {
				c[i].Seq--
			}
			return c
		}, nil, 5, audit.Reordered},
		"a cut tail":           {func(c []audit.Entry) []audit.Entry { return c[:6] }, []audit.Anchor{sound[8].Anchor()}, 7, audit.Cut},
		"nothing left":         {func([]audit.Entry) []audit.Entry { return nil }, []audit.Anchor{sound[8].Anchor()}, 1, audit.Cut},
		"a chain made anew":    {func(c []audit.Entry) []audit.Entry { return relink(c, 2) }, []audit.Anchor{sound[8].Anchor()}, 9, audit.Rewritten},
		"an anchor on the way": {func(c []audit.Entry) []audit.Entry { return relink(c, 2) }, []audit.Anchor{sound[8].Anchor(), sound[5].Anchor()}, 6, audit.Rewritten},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := audit.Verify(each(c.tamper(chain(t, 9))), audit.Anchor{}, c.anchors...)
			var b *audit.BrokenError
			if !errors.As(err, &b) || b.Seq != c.seq || b.Fault != c.fault {
				t.Fatalf("got %v, want %s at %d", err, c.fault, c.seq)
			}
		})
	}
}

func TestAnAnchorBeforeThePartThatIsThereIsNotTakenAsProven(t *testing.T) {
	entries := chain(t, 9)
	if _, err := audit.Verify(each(entries[4:]), entries[3].Anchor(), entries[1].Anchor()); !errors.Is(err, audit.ErrOutside) {
		t.Errorf("got %v", err)
	}
}

func TestAnAnchorIsReadAsItIsWritten(t *testing.T) {
	a := chain(t, 2)[1].Anchor()
	if got, err := audit.ParseAnchor(" " + a.String() + "\n"); err != nil || got != a {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "7", ":", "7:", "x:" + a.Hash.String(), "-1:" + a.Hash.String(), a.String() + "00", "7:" + strings.Repeat("z", 64)} {
		if got, err := audit.ParseAnchor(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}
