package execution

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds on one call.
const (
	MaxCode        = 1 << 20 // bytes of source
	MaxStdin       = 8 << 20
	MaxVariables   = 8 << 20 // bytes of JSON, all variables together
	MaxFiles       = 256
	MaxFileBytes   = 32 << 20 // all files together
	MaxWait        = 600 * time.Second
	DefaultWait    = 50 * time.Second
	maxTimeoutSecs = 300
)

// RejectedError says that a call is malformed or cannot be taken: no operation
// was made. Field is the argument at fault, empty when it is none.
type RejectedError struct {
	Code       Code
	Field      string
	Message    string
	RetryAfter time.Duration
}

func (e *RejectedError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

func invalid(field, format string, args ...any) *RejectedError {
	return &RejectedError{Code: CodeInvalidArgument, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Arguments are what a caller sends, before anything is believed.
type Arguments struct {
	Code           string                     `json:"code"`
	Language       string                     `json:"language,omitempty"`
	TimeoutSeconds *float64                   `json:"timeout_seconds,omitempty"`
	WaitSeconds    *float64                   `json:"wait_seconds,omitempty"`
	Stdin          string                     `json:"stdin,omitempty"`
	Variables      map[string]json.RawMessage `json:"variables,omitempty"`
	Files          []FileArgument             `json:"files,omitempty"`
	Gear           string                     `json:"gear,omitempty"`
}

// FileArgument is one file of a call: exactly one of Text and Base64 is set.
type FileArgument struct {
	Path   string  `json:"path"`
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// Request checks the arguments and makes a request of them. The error is always
// a *[RejectedError].
func (a Arguments) Request(p Principal, c Client) (Request, error) {
	r := Request{Principal: p, Client: c, Gear: strings.TrimSpace(a.Gear), Stdin: []byte(a.Stdin)}
	var err error
	if r.Code, err = NormaliseSource(a.Code); err != nil {
		return Request{}, err
	}
	if r.Language, err = ParseLanguage(a.Language); err != nil {
		return Request{}, invalid("language", "%v", err)
	}
	if r.Timeout, err = seconds("timeout_seconds", a.TimeoutSeconds, maxTimeoutSecs*time.Second, false); err != nil {
		return Request{}, err
	}
	if len(a.Stdin) > MaxStdin {
		return Request{}, invalid("stdin", "%d bytes: at most %d are accepted", len(a.Stdin), MaxStdin)
	}
	if r.Variables, err = variables(a.Variables); err != nil {
		return Request{}, err
	}
	if r.Files, err = files(a.Files); err != nil {
		return Request{}, err
	}
	return r, nil
}

// Wait is how long the caller is willing to wait for the end.
func (a Arguments) Wait() (time.Duration, error) { return WaitSeconds(a.WaitSeconds) }

// WaitSeconds reads the argument wait_seconds, nil meaning [DefaultWait].
func WaitSeconds(s *float64) (time.Duration, error) {
	if s == nil {
		return DefaultWait, nil
	}
	return seconds("wait_seconds", s, MaxWait, true)
}

func seconds(field string, s *float64, most time.Duration, zero bool) (time.Duration, error) {
	if s == nil {
		return 0, nil
	}
	low := "more than 0"
	if zero {
		low = "from 0"
	}
	if math.IsNaN(*s) || *s < 0 || (*s == 0 && !zero) || *s > most.Seconds() {
		return 0, invalid(field, "%v: must be %s up to %v seconds", *s, low, most.Seconds())
	}
	return max(time.Duration(*s*float64(time.Second)), 1), nil
}

// NormaliseSource turns text into the source that is analysed, shown and run:
// strict UTF-8 without a leading byte order mark, lines ended by LF, and no
// control characters that would make what a person sees differ from what runs.
// The error is a *[RejectedError].
func NormaliseSource(code string) (string, error) {
	switch {
	case len(code) > MaxCode:
		return "", invalid("code", "%d bytes of source: at most %d are accepted", len(code), MaxCode)
	case !utf8.ValidString(code):
		return "", invalid("code", "not valid UTF-8")
	}
	code = strings.TrimPrefix(code, "\ufeff")
	code = strings.ReplaceAll(code, "\r\n", "\n")
	code = strings.ReplaceAll(code, "\r", "\n")
	line := 1
	for _, r := range code {
		if r == '\n' {
			line++
		}
		if r != '\n' && r != '\t' && (r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0)) {
			return "", invalid("code", "control character U+%04X in line %d: write it as an escape inside a string", r, line)
		}
	}
	if strings.TrimSpace(code) == "" {
		return "", invalid("code", "empty: send the source to run")
	}
	return code, nil
}

// variables checks values and writes each without the white space of its JSON, as records
// keep it: what is run after an answer has to be byte for byte what was asked about.
func variables(in map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if in == nil {
		return nil, nil
	}
	total, out := 0, make(map[string]json.RawMessage, len(in))
	for name, v := range in {
		if !isIdentifier(name) {
			return nil, invalid("variables", "%q is not a Python identifier in ASCII", name)
		}
		if strings.HasPrefix(name, "__") {
			return nil, invalid("variables", "%q: names that begin with two underscores are Python's own", name)
		}
		if total += len(name) + len(v); total > MaxVariables {
			return nil, invalid("variables", "over %d bytes of JSON", MaxVariables)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil {
			return nil, invalid("variables", "the value of %q is no JSON: %v", name, err)
		}
		out[name] = compact.Bytes()
	}
	return out, nil
}

// keywords that cannot be global names in Python 3.
var keywords = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
	"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
	"not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && !slices.Contains(keywords, s)
}

func files(in []FileArgument) ([]File, error) {
	if len(in) > MaxFiles {
		return nil, invalid("files", "%d files: at most %d are accepted", len(in), MaxFiles)
	}
	out := make([]File, 0, len(in))
	seen := map[string]bool{}
	total := 0
	for i, f := range in {
		field := fmt.Sprintf("files[%d]", i)
		if err := checkPath(field, f.Path); err != nil {
			return nil, err
		}
		if seen[f.Path] {
			return nil, invalid(field+".path", "%q is given twice", f.Path)
		}
		seen[f.Path] = true
		data, err := f.data(field)
		if err != nil {
			return nil, err
		}
		if total += len(data); total > MaxFileBytes {
			return nil, invalid("files", "over %d bytes together", MaxFileBytes)
		}
		out = append(out, File{Path: f.Path, Data: data})
	}
	for p := range seen {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return nil, invalid("files", "%q is both a file and a directory of %q", dir, p)
			}
		}
	}
	return out, nil
}

func (f FileArgument) data(field string) ([]byte, error) {
	switch {
	case (f.Text == nil) == (f.Base64 == nil):
		return nil, invalid(field, "give either text or base64")
	case f.Text != nil:
		return []byte(*f.Text), nil
	}
	data, err := base64.StdEncoding.DecodeString(*f.Base64)
	if err != nil {
		return nil, invalid(field+".base64", "not standard base64: %v", err)
	}
	return data, nil
}

func checkPath(field, p string) error {
	switch {
	case p == "":
		return invalid(field+".path", "empty")
	case len(p) > 1024 || strings.ContainsRune(p, 0) || !utf8.ValidString(p):
		return invalid(field+".path", "must be UTF-8 without NUL, at most 1024 bytes")
	case path.IsAbs(p), p != path.Clean(p), p == ".", p == "..", strings.HasPrefix(p, "../"):
		return invalid(field+".path", "%q: must be relative to /workspace, without . or .. or a trailing slash", p)
	}
	if at := strings.IndexFunc(p, hidden); at >= 0 {
		r, _ := utf8.DecodeRuneInString(p[at:])
		return invalid(field+".path", "%+q holds U+%04X, which does not show: name files with characters that a person can see, and no spaces but the plain one", p, r)
	}
	for part := range strings.SplitSeq(p, "/") {
		if len(part) > 255 {
			return invalid(field+".path", "%q: a name in it is longer than 255 bytes", p)
		}
	}
	return nil
}

// hidden reports whether a character of a name leaves no mark of its own, or moves others:
// a control character, a separator other than the plain space, a mark of direction or of
// format, or what Unicode has ignored by default. A person who is shown such a name could
// neither tell it from another one nor type it.
func hidden(r rune) bool {
	return r != ' ' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
