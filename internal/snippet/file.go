package snippet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	strict "github.com/go-json-experiment/json"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

const (
	// format changes when an older Gearbox would misread the file.
	format = 1
	// maxHeader bounds what stands before the code, in bytes: defaults may be large.
	maxHeader = 256 << 10
	maxFile   = execution.MaxCode + maxHeader
)

// separator stands between header and code. No JSON holds it: line feeds within strings are
// escaped.
const separator = "\n---\n"

// header is what stands before the code.
type header struct {
	Format         int                `json:"format"`
	Name           string             `json:"name"`
	Description    string             `json:"description,omitempty"`
	Language       execution.Language `json:"language"`
	Gear           string             `json:"gear,omitempty"`
	TimeoutSeconds float64            `json:"timeout_seconds,omitempty"`
	Parameters     []Parameter        `json:"parameters,omitempty"`
	Pin            execution.Digest   `json:"pin"`
}

// Format is the text of the file of a snippet. The error says what is wrong with the snippet.
func (s Snippet) Format() ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	h := header{format, s.Name, s.Description, s.Language, s.Gear, s.TimeoutSeconds, s.Parameters, s.Pin()}
	if err := e.Encode(h); err != nil {
		return nil, fmt.Errorf("write the header: %w", err)
	}
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("the parameters are %d bytes: at most %d are accepted", b.Len(), maxHeader)
	}
	b.Truncate(b.Len() - 1) // the encoder's line feed is the first byte of the separator
	b.WriteString(separator)
	b.WriteString(s.Code)
	return b.Bytes(), nil
}

// Parse reads the text of a file. What it returns is whole: it has passed [Snippet.Check]
// and is what the pin in the file says.
func Parse(data []byte) (Snippet, error) {
	if len(data) > maxFile {
		return Snippet{}, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	head, code, ok := bytes.Cut(data, []byte(separator))
	if !ok || len(head) > maxHeader {
		return Snippet{}, errors.New("it has no line of three hyphens between header and code")
	}
	var h header
	if err := strict.Unmarshal(head, &h, strict.RejectUnknownMembers(true)); err != nil {
		return Snippet{}, fmt.Errorf("the header is not the JSON of a snippet: %w", err)
	}
	if h.Format != format {
		return Snippet{}, fmt.Errorf("the format %d is not known here: use the Gearbox that wrote it", h.Format)
	}
	for i, p := range h.Parameters {
		if p.Default == nil {
			continue
		}
		var b bytes.Buffer
		if err := json.Compact(&b, p.Default); err != nil {
			return Snippet{}, fmt.Errorf("the default of %.60q: %w", p.Name, err)
		}
		h.Parameters[i].Default = b.Bytes()
	}
	s := Snippet{h.Name, h.Description, h.Language, h.Gear, h.TimeoutSeconds, h.Parameters, string(code)}
	if err := s.Check(); err != nil {
		return Snippet{}, err
	}
	if pin := s.Pin(); pin != h.Pin {
		return Snippet{}, fmt.Errorf("its content has the pin %s and it says %s: it was changed after it was saved", pin, h.Pin)
	}
	return s, nil
}
