package serverfile

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// The bounds of what an operator may set for one server.
const (
	maxConcurrency = 1024
	leastTimeout   = time.Millisecond
	mostTimeout    = 24 * time.Hour
)

// transport reads the type of a server, by whichever word a program has for it.
func (r *serverReader) transport(f field) {
	word := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(r.text(f)))
	switch word {
	case "stdio", "local":
		r.entry.Spec.Transport = upstream.Stdio
	case "http", "streamablehttp", "streamable":
		r.entry.Spec.Transport = upstream.HTTP
	case "sse":
		r.entry.Spec.Transport = upstream.SSE
	case "remote", "auto":
		r.entry.Spec.Transport = upstream.Auto
	case "builtin", "platform", "frontend", "inlinepython":
		r.elsewhere = "Goose"
	default:
		r.fault(f, "the %s %q is not known: use stdio, http or sse", f.key, f.value.text)
	}
}

// command reads the program and what may stand with it: Zed nests its arguments, OpenCode
// writes a list.
func (r *serverReader) command(f field) {
	s := &r.entry.Spec
	switch f.value.shape {
	case text:
		s.Command = []string{r.value(f)}
	case list:
		s.Command = r.values(f)
	case object:
		for _, inner := range f.value.fields {
			switch inner.key {
			case "path":
				s.Command = []string{r.value(inner)}
			case "args":
				r.args = append(r.values(inner), r.args...)
			case "env":
				r.pairs(inner, &s.Env)
			default:
				r.unknown(inner, []string{"path", "args", "env"})
			}
		}
	case nothing, number, truth:
		r.fault(f, "%s is %s and not text", f.key, f.value.shape)
		return
	}
	if len(s.Command) == 0 || strings.TrimSpace(s.Command[0]) == "" {
		r.fault(f, "%s is empty: name a program", f.key)
	}
}

func (r *serverReader) url(f field) {
	if r.entry.Spec.URL = r.value(f); r.entry.Spec.URL == "" && f.value.shape == text {
		r.fault(f, "%s is empty: say where the server is", f.key)
	}
}

// pythonName is what a program can import.
var pythonName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *serverReader) alias(f field) {
	if r.entry.Spec.Alias = r.text(f); !pythonName.MatchString(r.entry.Spec.Alias) {
		r.fault(f, "alias %q is no name that Python imports: use letters, digits and _", f.value.text)
	}
}

func (r *serverReader) concurrency(f field) {
	n, err := strconv.Atoi(f.value.text)
	if f.value.shape != number || err != nil || n < 1 || n > maxConcurrency {
		r.fault(f, "%s has to be a number from 1 to %d", f.key, maxConcurrency)
		return
	}
	r.entry.Spec.Concurrency = n
}

func (r *serverReader) timeout(f field) {
	to := &r.entry.Spec.Timeout
	if r.dialect.startup && f.key == "timeout" {
		to = &r.entry.Spec.StartupTimeout
	}
	*to = r.lasting(f)
}

// lasting reads a time: text with a unit, or a number whose unit the key or the program
// says, and otherwise its size.
func (r *serverReader) lasting(f field) time.Duration {
	d, err := r.duration(f)
	if err != nil || d < leastTimeout || d > mostTimeout {
		r.fault(f, `%s has to be a time from %v to %v, such as "90s"`, f.key, leastTimeout, mostTimeout)
		return 0
	}
	return d
}

func (r *serverReader) duration(f field) (time.Duration, error) {
	if f.value.shape == text {
		if d, err := time.ParseDuration(f.value.text); err == nil {
			return d, nil
		}
	}
	n, err := strconv.ParseFloat(f.value.text, 64)
	if err != nil || math.IsNaN(n) || f.value.shape == truth {
		return 0, fmt.Errorf("%s is no time", f.value.shape)
	}
	unit := float64(time.Second)
	switch {
	case strings.HasSuffix(f.key, "_ms") || r.dialect.millis:
		unit = float64(time.Millisecond)
	case !strings.HasSuffix(f.key, "_sec") && n >= 1000:
		unit = float64(time.Millisecond)
		r.warn(f.line, "%s %s is taken for milliseconds: write \"%v\" to be sure", f.key, f.value.text, time.Duration(n*unit))
	}
	if n *= unit; n > float64(mostTimeout) {
		n = float64(mostTimeout) + float64(time.Hour)
	}
	return time.Duration(n), nil
}

// tools reads which tools there are: our own object, or a list of those that are let in.
func (r *serverReader) tools(f field) {
	s := &r.entry.Spec
	if f.value.shape == list {
		r.onlyTools(f)
		return
	}
	if f.value.shape != object {
		r.fault(f, "tools is %s: write {allow: […], deny: […], approve: […]}", f.value.shape)
		return
	}
	for _, inner := range f.value.fields {
		switch {
		case inner.key == "allow":
			r.onlyTools(inner)
		case inner.key == "deny":
			s.Deny = append(s.Deny, r.texts(inner)...)
		case inner.key == "approve":
			s.Approve = append(s.Approve, r.texts(inner)...)
		case inner.value.shape == object: // Codex sets whether each tool asks
			r.warn(inner.line, "tools: %q is not followed: whether a call asks is decided by the gear and by tools: {approve: […]}", inner.key)
		default:
			hint := ""
			if near := policy.Nearest(inner.key, []string{"allow", "deny", "approve"}); near != "" {
				hint = ": did you mean " + near + "?"
			}
			r.fault(inner, "tools: the key %q is unknown%s", inner.key, hint)
		}
	}
}

// onlyTools reads the tools that are let in. An empty list lets none in, but for Goose,
// which writes one where nothing is said.
func (r *serverReader) onlyTools(f field) {
	s := &r.entry.Spec
	names := r.texts(f)
	switch {
	case len(s.Allow) > 0 || slices.Contains(s.Deny, "*"):
		r.fault(f, "%s: which tools are let in is said twice: keep one", f.key)
	case len(names) > 0:
		s.Allow = names
	case f.value.shape == list && f.key != "available_tools":
		s.Deny = append(s.Deny, "*")
	}
}

// oauth reads the client that was registered for a server, or that tokens are wanted.
func (r *serverReader) oauth(f field) {
	if f.value.shape == truth || f.value.text == "oauth" {
		if f.value.text != "false" {
			r.entry.Spec.OAuth = &upstream.OAuth{}
		}
		return
	}
	if f.value.shape != object {
		r.fault(f, "%s is %s: write an object with client_id, client_secret and scopes, or true", f.key, f.value.shape)
		return
	}
	o := &upstream.OAuth{}
	r.entry.Spec.OAuth = o
	for _, inner := range f.value.fields {
		switch inner.key {
		case "client_id", "clientId", "CLIENT_ID":
			o.ClientID = r.value(inner)
		case "client_secret", "clientSecret", "CLIENT_SECRET":
			o.ClientSecret = r.value(inner)
		case "scopes", "scope":
			if inner.value.shape == text {
				o.Scopes = strings.Fields(r.text(inner))
				continue
			}
			o.Scopes = r.texts(inner)
		case "enabled":
			if !r.truth(inner) {
				r.entry.Spec.OAuth = nil
			}
		default:
			r.unknown(inner, []string{"client_id", "client_secret", "scopes"})
		}
	}
}
