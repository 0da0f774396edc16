package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mender rewrites a schema to what draft 2020-12 means by it, leaving out what does not count
// and what cannot be used. It holds no recursion of its own: a reference stays one.
type mender struct {
	root *Node
	id   string // of the document
	// legacy tells that a reference hides its neighbours, as it did up to draft 7.
	legacy bool
	// loose tells that something was left out in an earlier pass. What lies behind a
	// reference may then let too much pass.
	loose  bool
	faults []string
	count  int
	refs   []pending
	// anchors are the names that references may use.
	anchors map[string]bool
}

// pending is a reference that is checked when the whole document has been rewritten.
type pending struct {
	in    map[string]any
	ref   string
	where string
}

// mend rewrites root. What it returns shares nothing with root.
func mend(root *Node) (any, []string, error) {
	loose := false
	for {
		m := &mender{root: root, loose: loose, anchors: map[string]bool{}}
		m.id = strings.TrimSuffix(root.Get("$id").Str()+root.Get("id").Str(), "#")
		m.legacy = strings.Contains(root.Get("$schema").Str(), "json-schema.org/draft-0")
		doc, out := m.schema(root, "")
		if m.count > MaxSubschemas {
			return nil, nil, fmt.Errorf("%w: %d schemas in it, at most %d", ErrTooLarge, m.count, MaxSubschemas)
		}
		if m.resolve(doc) {
			out = true
		}
		if loose || !out {
			return doc, m.faults, nil
		}
		loose = true // once more, now that it is known
	}
}

func (m *mender) fault(where, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if where != "" {
		text = where + ": " + text
	}
	if len(m.faults) < maxFaults && !slices.Contains(m.faults, text) {
		m.faults = append(m.faults, text)
	}
}

// schema rewrites one schema. out tells that something was left out, so that the result
// may let pass what the original does not.
func (m *mender) schema(n *Node, where string) (mended any, out bool) {
	if m.count++; m.count > MaxSubschemas {
		return true, true
	}
	switch {
	case n.Is(Bool):
		return n.Text == "true", false
	case !n.Is(Object):
		m.fault(where, "is no schema, so that any value passes")
		return true, true
	}
	s := &rewriting{mender: m, from: n, to: map[string]any{}, where: where}
	s.reference()
	if !m.legacy || s.to["$ref"] == nil {
		s.values()
		s.numbers()
		s.texts()
		s.objects()
		s.arrays()
		s.logic()
	}
	s.definitions()
	return s.to, s.out
}

// resolve removes references that lead nowhere.
func (m *mender) resolve(doc any) (out bool) {
	for _, p := range m.refs {
		if fragment := strings.TrimPrefix(p.ref, "#"); fragment == "" || m.anchors[fragment] || leads(doc, fragment) {
			continue
		}
		m.fault(p.where, "the reference %s leads nowhere, so that any value passes", quote(p.ref))
		delete(p.in, "$ref")
		out = true
	}
	return out
}

// leads reports whether a pointer (RFC 6901) leads to a schema of doc.
func leads(doc any, pointer string) bool {
	if !strings.HasPrefix(pointer, "/") {
		return false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(unescape(token), "~1", "/"), "~0", "~")
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			doc = v[i]
		default:
			return false
		}
	}
	switch doc.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}

// unicodeEscape is how ECMAScript writes a character that RE2 writes as \x{…}.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// maxPattern bounds a pattern, which RE2 may expand a thousandfold.
const maxPattern = 2000

// pattern rewrites a pattern for RE2, which takes time linear in the text.
func pattern(p string) (string, bool) {
	if len(p) > maxPattern {
		return "", false
	}
	p = unicodeEscape.ReplaceAllString(p, `\x{$1}`)
	_, err := regexp.Compile(p)
	return p, err == nil
}

func quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return strconv.QuoteToGraphic(s)
}
