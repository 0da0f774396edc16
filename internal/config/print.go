package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// YAML is what holds as a file, each value with where it was written; what is left to
// its default is a comment. Reading it gives the same values.
func (r *Resolved) YAML() string {
	var b strings.Builder
	r.writeSection(&b, r.table.sections(), "")
	for _, s := range r.table {
		if e, ok := r.values[s.Flag]; ok && s.Key == "" {
			fmt.Fprintf(&b, "# --%s %s  # %s\n", s.Flag, e.Items[0].Text, e.From.short())
		}
	}
	return b.String()
}

func (r *Resolved) writeSection(b *strings.Builder, s *section, indent string) {
	for _, name := range s.names {
		below, ok := s.sections[name]
		switch {
		case !ok:
			r.writeSetting(b, s.settings[name], indent+name+":", indent)
		case r.says(below):
			fmt.Fprintf(b, "%s%s:\n", indent, name)
			r.writeSection(b, below, indent+"  ")
		default:
			fmt.Fprintf(b, "# %s%s:\n", indent, name)
			r.writeSection(b, below, indent+"  ")
		}
	}
}

// says reports whether anything of the section was written.
func (r *Resolved) says(s *section) bool {
	for _, setting := range s.settings {
		if _, ok := r.values[setting.Flag]; ok {
			return true
		}
	}
	for _, below := range s.sections {
		if r.says(below) {
			return true
		}
	}
	return false
}

func (r *Resolved) writeSetting(b *strings.Builder, s Setting, key, indent string) {
	e, ok := r.values[s.Flag]
	e = s.Value.absolute(e)
	switch {
	case !ok:
		fmt.Fprintf(b, "# %s  # default: %s\n", key, s.Default)
	case !s.Value.list:
		fmt.Fprintf(b, "%s %s  # %s\n", key, s.Value.yaml(e.Items[0].Text), e.From.short())
	case len(e.Items) == 0:
		fmt.Fprintf(b, "%s []  # %s\n", key, e.From.short())
	default:
		fmt.Fprintln(b, key)
		for _, i := range e.Items {
			fmt.Fprintf(b, "%s  - %s  # %s\n", indent, s.Value.yaml(i.Text), i.From.short())
		}
	}
}

// absolute makes paths of flags and variables count from nowhere.
func (v Value) absolute(e Entry) Entry {
	dir, err := os.Getwd()
	if err != nil || v.place == nil {
		return e
	}
	items := slices.Clone(e.Items)
	for i := range items {
		items[i].Text = v.place(dir, items[i].Text)
	}
	return Entry{e.From, items}
}

// short leaves the directory of a file out.
func (o Origin) short() string {
	if o.Source == SourceFile {
		o.Name = filepath.Base(o.Name)
	}
	return OneLine(o.String())
}

// OneLine keeps a name from ending the comment that it stands in.
func OneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 {
			return '?'
		}
		return c
	}, s)
}

// plain is text that YAML takes for itself, whatever its version.
var plain = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./()-]*$`)

// reserved are words that some version of YAML takes for something else than text.
var reserved = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)

// yaml is a text as a value of the file.
func (v Value) yaml(text string) string {
	if v.form != formText || plain.MatchString(text) && !reserved.MatchString(text) {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // JSON's strings are YAML's
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return "''" // no string fails to encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Shown is one setting as it holds.
type Shown struct {
	Key      string `json:"key,omitempty"`
	Flag     string `json:"flag"`
	Variable string `json:"variable"`
	// Value is absent where the default holds.
	Value   any    `json:"value,omitempty"`
	From    string `json:"from"`
	Default string `json:"default"`
	Reload  bool   `json:"reload"`
}

// Settings is what holds, in the table's order.
func (r *Resolved) Settings() []Shown {
	var out []Shown
	for _, s := range r.table {
		shown := Shown{Key: s.Key, Flag: "--" + s.Flag, Variable: s.Variable(), From: r.From(s.Flag).String(), Default: s.Default, Reload: s.Reload}
		if e, ok := r.values[s.Flag]; ok {
			shown.Value = s.Value.json(s.Value.absolute(e).Items)
		}
		out = append(out, shown)
	}
	return out
}

func (v Value) json(items []Item) any {
	switch {
	case v.list:
		return append([]string{}, texts(items)...)
	case v.form == formText, v.form == formTime:
		return items[0].Text
	}
	return json.RawMessage(items[0].Text)
}
