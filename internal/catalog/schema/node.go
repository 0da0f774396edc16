package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a JSON value.
type Kind byte

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Node is a JSON value whose objects keep the order in which they were written, which is
// the order in which a person would have its parameters. A nil Node has no value.
type Node struct {
	Kind    Kind
	Text    string // of a string; of a number as it was written; true or false
	Items   []*Node
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value *Node
}

// Parse reads one JSON value. Of members with the same name the last counts, and bytes that
// are no UTF-8 become U+FFFD. The error wraps [ErrTooLarge] where a bound is passed.
func Parse(text []byte, maxBytes int) (*Node, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(text), maxBytes)
	}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	p := &parser{Decoder: d}
	n, err := p.read()
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

type parser struct {
	*jsontext.Decoder

	values int // that were read
}

func (d *parser) read() (*Node, error) {
	if d.values++; d.values > MaxValues {
		return nil, fmt.Errorf("%w: more than %d values", ErrTooLarge, MaxValues)
	}
	if d.StackDepth() > MaxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrTooLarge, MaxDepth)
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return d.readObject()
	case '[':
		return d.readArray()
	case '"':
		return &Node{Kind: String, Text: token.String()}, nil
	case '0':
		n := &Node{Kind: Number, Text: token.String()}
		return n, checkNumber(n.Text)
	case 't', 'f':
		return &Node{Kind: Bool, Text: token.String()}, nil
	default:
		return &Node{Kind: Null}, nil
	}
}

func (d *parser) readObject() (*Node, error) {
	n, at := &Node{Kind: Object}, map[string]int{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.String()} // before the next token is read over it
		if m.Value, err = d.read(); err != nil {
			return nil, err
		}
		if i, again := at[m.Name]; again {
			n.Members[i] = m
			continue
		}
		at[m.Name] = len(n.Members)
		n.Members = append(n.Members, m)
	}
	_, err := d.ReadToken()
	return n, err
}

func (d *parser) readArray() (*Node, error) {
	n := &Node{Kind: Array}
	for d.PeekKind() != ']' {
		item, err := d.read()
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
	_, err := d.ReadToken()
	return n, err
}

// checkNumber refuses numbers that are small to write and huge to hold.
func checkNumber(text string) error {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	e, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if len(mantissa) > maxNumber || exponent != "" && (err != nil || e > maxNumber || e < -maxNumber) {
		return fmt.Errorf("%w: a number of more than %d digits", ErrTooLarge, maxNumber)
	}
	return nil
}

// Get is the member of that name, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Is reports whether n has a value of that kind.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Str is the text of a string, and empty for everything else.
func (n *Node) Str() string {
	if n.Is(String) {
		return n.Text
	}
	return ""
}

// Any is the value as encoding/json would have it, with numbers as [json.Number].
func (n *Node) Any() any {
	switch n.Kind {
	case Null:
		return nil
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	case Array:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Any()
		}
		return list
	case Object:
		object := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			object[m.Name] = m.Value.Any()
		}
		return object
	}
	return nil
}
