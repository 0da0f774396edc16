// Package snippet keeps scripts that worked and that the operator saved: each has a name,
// parameters with types, and a pin, and is a file of its own.
//
// What belongs here: what a snippet is, its file, its pin, and how arguments are checked
// against its parameters. What does not: running it, which is what happens to any request,
// and what may be run: a snippet has no rights of its own.
//
// # The file
//
// NAME.snippet is a header, a line of three hyphens, and the code, byte for byte to the end
// of the file:
//
//	{
//	  "format": 1,
//	  "name": "total",
//	  "description": "Adds numbers up.",
//	  "language": "python",
//	  "parameters": [
//	    {"name": "numbers", "type": "array"},
//	    {"name": "start", "type": "number", "default": 0}
//	  ],
//	  "pin": "sha256:…"
//	}
//	---
//	sum(numbers, start)
//
// The header is strict JSON: a member that is not known, given twice or of another type is
// an error. gear and timeout_seconds may stand in it too. What a person reads in the file is
// what runs, so there is no escaping in the code.
//
// # The pin
//
// The pin is the SHA-256 of everything else in the file, see [Snippet.Pin]. It stands in the
// file and in the records, where only saving puts it, together with an event of the audit
// chain. A snippet is served when all three agree: what is in the file, the pin there, and
// the pin of the records. So a file that was edited, cut short, restored from elsewhere or
// put there by whatever can write the folder and not the records is refused. Whoever can
// write the records too is the operator for all that this can tell.
package snippet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/visible"
)

// The bounds of one snippet. Names leave room for the prefixes of tools and of clients
// within the 64 characters that models take.
const (
	MaxName        = 40
	MaxDescription = 500 // characters: each session of a model reads it
	MaxParameters  = 32
	maxGear        = 64
)

// Snippet is a saved script.
type Snippet struct {
	Name        string
	Description string
	Language    execution.Language
	// Gear holds too: the stricter of it and the server's. Empty for the server's alone.
	Gear string
	// TimeoutSeconds is 0 for the gear's default.
	TimeoutSeconds float64
	Parameters     []Parameter
	Code           string
}

// Parameter is a value that a call gives: a global in Python, a variable of the environment
// in bash.
type Parameter struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Default is JSON of the type; nil when each call has to give a value.
	Default json.RawMessage `json:"default,omitzero"`
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// CheckName says what is wrong with a name.
func CheckName(name string) error {
	if len(name) > MaxName || !nameForm.MatchString(name) {
		return fmt.Errorf("%.60q is no name of a snippet: begin with a small letter, and go on with small letters, digits and _, at most %d", name, MaxName)
	}
	return nil
}

// Pin is the SHA-256 of all that a snippet is, each part preceded by its length.
func (s Snippet) Pin() execution.Digest {
	parts := [][]byte{
		[]byte("gearbox snippet 1"), []byte(s.Name), []byte(s.Description), []byte(s.Language), []byte(s.Gear),
		strconv.AppendFloat(nil, s.TimeoutSeconds, 'g', -1, 64), []byte(s.Code), strconv.AppendInt(nil, int64(len(s.Parameters)), 10),
	}
	for _, p := range s.Parameters {
		parts = append(parts, []byte(p.Name), []byte(p.Type), p.Default)
	}
	return execution.DigestOf(parts...)
}

// Check says what keeps a snippet from being saved or read.
func (s Snippet) Check() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	switch {
	case !utf8.ValidString(s.Description) || utf8.RuneCountInString(s.Description) > MaxDescription:
		return fmt.Errorf("the description is not text of at most %d characters", MaxDescription)
	case visible.Line(s.Description) != s.Description:
		return fmt.Errorf("the description holds characters that do not show, or are no part of one line: %s", visible.Line(s.Description))
	case len(s.Gear) > maxGear || s.Gear != "" && !gearForm.MatchString(s.Gear):
		return fmt.Errorf("%.60q is no name of a gear", s.Gear)
	case s.Language != execution.Python && s.Language != execution.Bash:
		return fmt.Errorf("the language %.20q is none that is run: python or bash", s.Language)
	case len(s.Parameters) > MaxParameters:
		return fmt.Errorf("there are %d parameters: at most %d are accepted", len(s.Parameters), MaxParameters)
	}
	if code, err := execution.NormaliseSource(s.Code); err != nil || code != s.Code {
		return fmt.Errorf("the code is not in the form in which it is run (%w)", orForm(err))
	}
	if err := s.checkParameters(); err != nil {
		return err
	}
	if _, err := s.request(nil, "", execution.Client{}); err != nil {
		return err
	}
	return nil
}

var gearForm = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

func orForm(err error) error {
	if err == nil {
		return errForm
	}
	return err
}

func (s Snippet) checkParameters() error {
	seen := map[string]bool{}
	for _, p := range s.Parameters {
		if seen[p.Name] {
			return fmt.Errorf("the parameter %s is given twice", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

// Signature is the parameters in one line, for people.
func (s Snippet) Signature() string {
	text := ""
	for i, p := range s.Parameters {
		if i > 0 {
			text += ", "
		}
		text += p.Name + ": " + string(p.Type)
		if p.Default != nil {
			text += " = " + string(p.Default)
		}
	}
	return "(" + text + ")"
}
