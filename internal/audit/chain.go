package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Hash is the hash of one event and of everything before it. The zero Hash stands
// before the first event.
type Hash [sha256.Size]byte

// String is the lower-case hexadecimal form.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d hexadecimal digits, not %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Anchor names one event by its number and hash. The zero Anchor stands before the
// first event.
type Anchor struct {
	Seq  int64 `json:"seq"`
	Hash Hash  `json:"hash"`
}

// String is the form that [ParseAnchor] reads.
func (a Anchor) String() string { return strconv.FormatInt(a.Seq, 10) + ":" + a.Hash.String() }

// ParseAnchor reads "SEQ:HASH".
func ParseAnchor(s string) (Anchor, error) {
	number, hash, found := strings.Cut(strings.TrimSpace(s), ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || seq < 0 {
		return Anchor{}, fmt.Errorf("%q is no anchor: write SEQ:HASH as gearbox audit anchor prints it", s)
	}
	a := Anchor{Seq: seq}
	if err := a.Hash.UnmarshalText([]byte(hash)); err != nil {
		return Anchor{}, fmt.Errorf("%q is no anchor: %w", s, err)
	}
	return a, nil
}

// Entry is an event in its place in the chain.
type Entry struct {
	Seq int64
	// Previous is the hash of the entry before.
	Previous, Hash Hash
	// Text is the canonical JSON of the event.
	Text []byte
}

// Anchor names the entry.
func (e Entry) Anchor() Anchor { return Anchor{Seq: e.Seq, Hash: e.Hash} }

// before names the entry that this one says comes before it.
func (e Entry) before() Anchor { return Anchor{Seq: e.Seq - 1, Hash: e.Previous} }

// Event reads the text. It does not check the hash: [Verify] does.
func (e Entry) Event() (Event, error) {
	_, event, err := decode(e.Text)
	return event, err
}

// Link puts an event behind the head of a chain.
func Link(head Anchor, e Event) (Entry, error) {
	seq := head.Seq + 1
	body, err := encode(seq, e)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Seq: seq, Previous: head.Hash, Hash: sum(head.Hash, body), Text: body}, nil
}

func sum(before Hash, body []byte) Hash {
	h := sha256.New()
	h.Write(before[:])
	h.Write(body)
	return Hash(h.Sum(nil))
}
