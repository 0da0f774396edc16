package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine bounds one line of an export. What Gearbox writes is far below.
const MaxLine = 1 << 20

// line is one line of an export. It proves its own link: its hash is that of previous
// and event.
type line struct {
	Previous *Hash           `json:"previous"`
	Hash     *Hash           `json:"hash"`
	Event    json.RawMessage `json:"event"`
}

// WriteLine writes an entry as one line of JSON that [VerifyLines] reads.
func WriteLine(w io.Writer, e Entry) error {
	var b bytes.Buffer
	b.Grow(len(e.Text) + 192)
	fmt.Fprintf(&b, `{"previous":%q,"hash":%q,"event":`, e.Previous, e.Hash)
	b.Write(e.Text)
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// VerifyLines checks an export. It need not begin with the first event: the report says
// where it begins. Errors are those of [Verify], and an error with the line's number
// for what is no export.
func VerifyLines(r io.Reader, anchors ...Anchor) (Report, error) {
	next, stop := iter.Pull2(lines(r))
	defer stop()
	first, err, more := next()
	if err != nil || !more {
		return Report{}, err
	}
	from := first.before()
	if from.Seq == 0 {
		from = Anchor{} // whatever it names, nothing comes before the first event
	}
	all := func(yield func(Entry, error) bool) {
		for ; more && yield(first, err); first, err, more = next() {
		}
	}
	return Verify(all, from, anchors...)
}

// lines reads an export line by line. Empty lines are skipped.
func lines(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 64<<10), MaxLine)
		n := 0
		for s.Scan() {
			n++
			if len(bytes.TrimSpace(s.Bytes())) == 0 {
				continue
			}
			l, err := parseLine(s.Bytes())
			if err != nil {
				err = fmt.Errorf("line %d is no event of an audit export: %w", n, err)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(Entry{}, fmt.Errorf("read line %d: %w", n+1, err))
		}
	}
}

func parseLine(b []byte) (Entry, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // nothing may stand in an export that no hash covers
	if err := d.Decode(&l); err != nil {
		return Entry{}, err
	}
	if d.More() || l.Previous == nil || l.Hash == nil || l.Event == nil {
		return Entry{}, errors.New("it needs previous, hash and event, and nothing else")
	}
	body, err := canonical(l.Event)
	if err != nil {
		return Entry{}, err
	}
	seq, err := number(body)
	if err != nil || seq < 1 {
		return Entry{}, fmt.Errorf("its event has no number: %w", errors.Join(err, errNoNumber))
	}
	return Entry{Seq: seq, Previous: *l.Previous, Hash: *l.Hash, Text: body}, nil
}

var errNoNumber = errors.New("seq counts from 1")
