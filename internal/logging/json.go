package logging

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// JSON masks within a text that is an object or a list of JSON, and leaves it one: the
// values of keys that are secret as a whole, other texts by pattern. It is false for any
// other text.
func (r *Redactor) JSON(s string) (string, bool) {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return s, false
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return s, false
	}
	if _, err := d.Token(); err != io.EOF {
		return s, false
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.within("", v)); err != nil {
		return s, false
	}
	return strings.TrimSuffix(out.String(), "\n"), true
}

// within masks a value of a key.
func (r *Redactor) within(key string, v any) any {
	if key != "" && v != nil && r.Secret(key) {
		return Mask
	}
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case json.Number:
		if s := r.Text(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = r.within("", v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[r.Text(k)] = r.within(k, e)
		}
		return out
	}
	return v
}
