package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Fault is how a chain is broken.
type Fault string

// The faults.
const (
	Changed   Fault = "changed"   // an event or its hash is not what was recorded
	Missing   Fault = "missing"   // events between two others are gone
	Reordered Fault = "reordered" // an event is not in its place
	Cut       Fault = "cut"       // the record ends before an anchor
	Rewritten Fault = "rewritten" // the chain is whole, and another than the anchor's
)

// BrokenError names the first broken link.
type BrokenError struct {
	Seq    int64
	Fault  Fault
	Detail string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the audit chain is broken at event %d (%s): %s", e.Seq, e.Fault, e.Detail)
}

func broken(seq int64, f Fault, format string, args ...any) error {
	return &BrokenError{Seq: seq, Fault: f, Detail: fmt.Sprintf(format, args...)}
}

// ErrOutside says that an anchor lies before the part of the chain that was looked at.
var ErrOutside = errors.New("the anchor lies before the first event that is here")

// Report is what a check has found whole.
type Report struct {
	// From stands before the first event that was checked; zero when that is the first
	// of all.
	From Anchor `json:"from"`
	// Head is the last event.
	Head Anchor `json:"head"`
}

// Count is the number of events.
func (r Report) Count() int64 { return r.Head.Seq - r.From.Seq }

// Verify checks that the entries are a chain that begins behind from, which is zero for
// a whole record, and that goes through every anchor. What is wrong with it is a
// *[BrokenError], which names the first broken link; an anchor from before the part
// that is there is [ErrOutside]; any other error is one of entries. It reads entries
// once and keeps none.
func Verify(entries iter.Seq2[Entry, error], from Anchor, anchors ...Anchor) (Report, error) {
	c := newCheck(from, anchors)
	if err := c.outside(); err != nil {
		return c.report, err
	}
	next, stop := iter.Pull2(entries)
	defer stop()
	for {
		entry, err, more := next()
		switch {
		case err != nil:
			return c.report, err
		case !more:
			return c.report, c.end()
		}
		if entry.Seq > c.report.Head.Seq+1 {
			return c.report, c.gap(entry, next)
		}
		if err := c.take(entry); err != nil {
			return c.report, err
		}
	}
}

// check is the state of a verification: the report grows with each sound entry.
type check struct {
	report  Report
	anchors []Anchor // not reached yet, in order
}

func newCheck(from Anchor, anchors []Anchor) *check {
	sorted := slices.SortedFunc(slices.Values(anchors), func(a, b Anchor) int { return int(min(max(a.Seq-b.Seq, -1), 1)) })
	return &check{report: Report{From: from, Head: from}, anchors: sorted}
}

// outside looks at the anchors at and before the start.
func (c *check) outside() error {
	if len(c.anchors) > 0 && c.anchors[0].Seq < c.report.From.Seq {
		return fmt.Errorf("%w: the anchor is of event %d, and the first event here is %d", ErrOutside, c.anchors[0].Seq, c.report.From.Seq+1)
	}
	return c.anchored()
}

// take checks one entry that follows the last or is out of order.
func (c *check) take(e Entry) error {
	head := c.report.Head
	if e.Seq <= head.Seq {
		return broken(e.Seq, Reordered, "it stands behind event %d", head.Seq)
	}
	inner, err := number(e.Text)
	switch {
	case err != nil:
		return broken(e.Seq, Changed, "it cannot be read: %v", err)
	case inner != e.Seq && sum(head.Hash, e.Text) != e.Hash:
		return broken(e.Seq, Reordered, "event %d stands in its place", inner)
	case sum(head.Hash, e.Text) != e.Hash:
		return broken(e.Seq, Changed, "its hash does not match what it says and the event before it")
	case inner != e.Seq:
		return broken(e.Seq, Changed, "it says that it is event %d", inner)
	case e.Previous != head.Hash:
		return broken(e.Seq, Changed, "the hash that it names for event %d is not that event's", head.Seq)
	}
	c.report.Head = e.Anchor()
	return c.anchored()
}

// anchored compares the head with the anchors of its number.
func (c *check) anchored() error {
	for len(c.anchors) > 0 && c.anchors[0].Seq == c.report.Head.Seq {
		if c.anchors[0].Hash != c.report.Head.Hash {
			return broken(c.report.Head.Seq, Rewritten, "its hash is %s, and %s was anchored", c.report.Head.Hash, c.anchors[0].Hash)
		}
		c.anchors = c.anchors[1:]
	}
	return nil
}

func (c *check) end() error {
	if len(c.anchors) == 0 {
		return nil
	}
	return broken(c.report.Head.Seq+1, Cut, "the record ends with event %d, and event %d was anchored", c.report.Head.Seq, c.anchors[0].Seq)
}

// gap tells events that are gone from one that comes later.
func (c *check) gap(e Entry, next func() (Entry, error, bool)) error {
	want := c.report.Head.Seq + 1
	for {
		later, err, more := next()
		switch {
		case err != nil:
			return err
		case !more && e.Seq == want+1:
			return broken(want, Missing, "event %d follows event %d", e.Seq, want-1)
		case !more:
			return broken(want, Missing, "events %d to %d are gone", want, e.Seq-1)
		case later.Seq == want:
			return broken(want, Reordered, "event %d stands before it", e.Seq)
		}
	}
}

// number is the number that an event gives itself.
func number(body []byte) (int64, error) {
	var t struct {
		Seq int64 `json:"seq"`
	}
	err := json.Unmarshal(body, &t)
	return t.Seq, err
}
