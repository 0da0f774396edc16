package serverfile

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// root is the key of our own files.
const root = "servers"

// written is a server as our own files have it.
type written struct {
	Type           string            `json:"type,omitempty"`
	Command        string            `json:"command,omitempty"`
	Args           []string          `json:"args,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	EnvFile        string            `json:"env_file,omitempty"`
	EnvVars        []string          `json:"env_vars,omitempty"`
	Cwd            string            `json:"cwd,omitempty"`
	Sandbox        any               `json:"sandbox,omitempty"` // true, or a [writtenSandbox]
	URL            string            `json:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	OAuth          *writtenOAuth     `json:"oauth,omitempty"`
	Description    string            `json:"description,omitempty"`
	Alias          string            `json:"alias,omitempty"`
	Tools          *writtenTools     `json:"tools,omitempty"`
	TrustHints     bool              `json:"trust_hints,omitempty"`
	Timeout        string            `json:"timeout,omitempty"`
	StartupTimeout string            `json:"startup_timeout,omitempty"`
	MaxConcurrency int               `json:"max_concurrency,omitempty"`
	Lazy           bool              `json:"lazy,omitempty"`
	Disabled       bool              `json:"disabled,omitempty"`
}

type writtenOAuth struct {
	ClientID     string   `json:"client_id,omitempty"`
	ClientSecret string   `json:"client_secret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
}

type writtenSandbox struct {
	Gear  string   `json:"gear,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

type writtenTools struct {
	Allow   []string `json:"allow,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Approve []string `json:"approve,omitempty"`
}

func writtenOf(e Entry) written {
	s := e.Spec
	w := written{
		Env: s.Env, EnvFile: e.EnvFile, EnvVars: e.EnvVars, Cwd: s.Dir, URL: s.URL, Headers: s.Headers,
		Description: s.Description, Alias: s.Alias, TrustHints: s.TrustHints, Timeout: timeText(s.Timeout),
		StartupTimeout: timeText(s.StartupTimeout), MaxConcurrency: s.Concurrency, Lazy: s.Lazy, Disabled: s.Disabled,
	}
	if s.Transport != upstream.Auto {
		w.Type = string(s.Transport)
	}
	if len(s.Command) > 0 {
		w.Command, w.Args = s.Command[0], s.Command[1:]
	}
	if o := s.OAuth; o != nil {
		w.OAuth = &writtenOAuth{ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes}
	}
	if b := s.Sandbox; b != nil {
		w.Sandbox = writtenSandbox{b.Gear, b.Allow}
		if b.Gear == "" && len(b.Allow) == 0 {
			w.Sandbox = true
		}
	}
	if len(s.Allow)+len(s.Deny)+len(s.Approve) > 0 {
		w.Tools = &writtenTools{Allow: s.Allow, Deny: s.Deny, Approve: s.Approve}
	}
	return w
}

func timeText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Export writes entries as one of our own files, which [Read] reads back unchanged: with
// the variables that they name, and not what those hold.
func Export(entries []Entry) ([]byte, error) {
	servers := map[string]written{}
	for _, e := range entries {
		servers[e.Spec.Name] = writtenOf(e)
	}
	return marshal(map[string]any{root: servers})
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // & is common in addresses
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
