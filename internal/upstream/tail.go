package upstream

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards what follows
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > maxTail {
		p, t.cut = p[len(p)-maxTail:], true
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	return n, nil
}

// text is what is kept, from the beginning of a line if it does not begin at the
// beginning: half a line could hold half a credential, which nothing would mask.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.kept)
	if t.cut {
		_, s, _ = strings.Cut(s, "\n")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// last is the last line that says something.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(t.text()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
