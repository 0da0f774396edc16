package upstream

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/logging"
)

// shortestSecret is the length below which a value is not looked for in other texts: it
// would be found everywhere.
const shortestSecret = 6

// longestNumber is the length from which digits may be a credential.
const longestNumber = 8

// mask takes the credentials of one server out of what it says, and out of what is said
// of it. Patterns cannot know a key that looks like any word; the values can be.
type mask struct {
	redactor *logging.Redactor

	mu     sync.Mutex // guards what follows
	values []string   // longest first
}

func newMask(s Spec, r *logging.Redactor) *mask {
	m := &mask{redactor: r}
	for _, v := range s.Headers {
		m.add(v)
		if _, credential, ok := strings.Cut(v, " "); ok {
			m.add(credential)
		}
	}
	for k, v := range s.Env {
		if r.Secret(k) || r.Text(v) != v || !Public(k, v) {
			m.addValue(v)
		}
	}
	for _, v := range s.Secrets {
		m.addValue(v)
	}
	for i, a := range s.Command {
		m.addArgument(a, i > 0 && r.Text(s.Command[i-1]+" "+a) != s.Command[i-1]+" "+a)
	}
	if u, err := url.Parse(s.URL); err == nil {
		m.addURL(u)
	}
	if s.OAuth != nil {
		m.add(s.OAuth.ClientSecret)
	}
	return m
}

// addValue adds a value, and what is secret in it where it is an address.
func (m *mask) addValue(v string) {
	m.add(v)
	if u, err := url.Parse(v); err == nil && u.Host != "" {
		m.addURL(u)
	}
}

// Public reports whether the value of a variable can be no credential, by what the variable
// is for or how the value looks: a number, a choice, or an absolute path.
func Public(name, value string) bool {
	if slices.ContainsFunc(inherited(), func(n string) bool {
		return n == name && !strings.HasSuffix(strings.ToLower(n), "_proxy")
	}) {
		return true
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil && len(value) < longestNumber {
		return true
	}
	switch strings.ToLower(value) {
	case "verbose", "warning", "production", "development", "staging", "enabled", "disabled":
		return true
	}
	return filepath.IsAbs(value)
}

// addArgument adds what follows an option that names a secret, before = or after a blank.
func (m *mask) addArgument(a string, secret bool) {
	if name, value, ok := strings.Cut(a, "="); ok && (m.redactor.Secret(strings.TrimLeft(name, "-")) || m.redactor.Text(a) != a) {
		m.add(value)
	} else if secret || m.redactor.Text(a) != a {
		m.add(a)
	}
}

func (m *mask) addURL(u *url.URL) {
	if p, ok := u.User.Password(); ok {
		m.add(p)
		m.add(url.QueryEscape(p))
		m.add(url.PathEscape(p))
	}
	if _, both := u.User.Password(); u.User != nil && !both {
		m.add(u.User.Username()) // a token, alone
	}
	for k, values := range u.Query() {
		for _, v := range values {
			if m.redactor.Secret(k) || k == "key" || m.redactor.Text(v) != v {
				m.add(v)
				m.add(url.QueryEscape(v))
			}
		}
	}
}

// add has a value masked from now on.
func (m *mask) add(v string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(v) < shortestSecret || slices.Contains(m.values, v) {
		return
	}
	m.values = append(m.values, v)
	slices.SortFunc(m.values, func(a, b string) int { return len(b) - len(a) })
}

func (m *mask) secrets() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.values)
}

// text masks the values of the server, and what looks like a credential.
func (m *mask) text(s string) string { return m.redactor.Text(m.exact(s)) }

// exact masks the values of the server alone: what its tools answer is data.
func (m *mask) exact(s string) string {
	for _, v := range m.secrets() {
		s = strings.ReplaceAll(s, v, logging.Mask)
	}
	return s
}

// bytes masks the values of the server in data. What holds none stays what it is.
func (m *mask) bytes(data []byte) []byte {
	for _, v := range m.secrets() {
		if bytes.Contains(data, []byte(v)) {
			data = bytes.ReplaceAll(data, []byte(v), []byte(logging.Mask))
		}
	}
	return data
}

// json masks within the strings of a JSON text. One that holds nothing of the kind stays
// as it is, byte for byte.
func (m *mask) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !slices.ContainsFunc(m.secrets(), func(v string) bool { return bytes.Contains(raw, quoted(v)) }) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	out, err := json.Marshal(m.walk(v))
	if err != nil {
		return nil
	}
	return out
}

// quoted is a text as it stands within a string of JSON.
func quoted(s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		return []byte(s)
	}
	return q[1 : len(q)-1]
}

func (m *mask) walk(v any) any {
	switch v := v.(type) {
	case string:
		return m.exact(v)
	case []any:
		for i := range v {
			v[i] = m.walk(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[m.exact(k)] = m.walk(e)
		}
		return out
	}
	return v
}
