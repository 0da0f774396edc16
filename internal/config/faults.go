package config

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// faults collects what is wrong, so that all of it is mended in one go.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) err() error { return errors.Join(*f...) }

// check reads the values of one setting. What cannot be read is left out.
func (f *faults) check(s Setting, e Entry) Entry {
	out := Entry{From: e.From}
	for _, i := range e.Items {
		text, err := s.Value.accept(i.Text)
		if err != nil {
			f.add("%s %w", i.From.Name, err)
			continue
		}
		out.Items = append(out.Items, Item{text, i.From})
	}
	return out
}

// settingError is an error about one setting, found by whoever uses the values. Its text
// speaks of settings by their flags.
type settingError interface {
	error
	// Setting is the flag of the setting, without dashes.
	Setting() string
	// Value is which of its values, if it has several and that is known.
	Value() string
}

// Explain says where the values stand that an error of their user is about, and speaks
// of settings as they are called there. What is about no setting stays as it is.
func (r *Resolved) Explain(err error) error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, one := range many.Unwrap() {
			out = append(out, r.Explain(one))
		}
		return errors.Join(out...)
	}
	var about settingError
	if !errors.As(err, &about) {
		return err
	}
	from := r.place(about)
	if from.Source == SourceFlag || from.Source == SourceDefault {
		return err
	}
	text := r.renamed(err.Error(), from.Source)
	if from.Source != SourceFile {
		return fmt.Errorf("%s: %s", from.Name, text)
	}
	return &strictyaml.FileError{File: from.Name, Line: from.Line, Column: from.Column, Message: text}
}

// Wrong says where a value stands that an error is about.
func (i Item) Wrong(err error) error {
	if i.From.Source != SourceFile {
		return fmt.Errorf("%s %w", i.From.Name, err)
	}
	return &strictyaml.FileError{File: i.From.Name, Line: i.From.Line, Column: i.From.Column, Message: err.Error()}
}

// place is where the value stands that an error is about. A value that the setting does
// not have comes from elsewhere.
func (r *Resolved) place(about settingError) Origin {
	if about.Value() == "" {
		return r.From(about.Setting())
	}
	for _, i := range r.values[about.Setting()].Items {
		if i.Text == about.Value() {
			return i.From
		}
	}
	return Origin{Source: SourceDefault}
}

var flagWord = regexp.MustCompile(`--[a-z][a-z-]*[a-z]`)

// renamed calls each setting what it is called where it is written, and those that are
// written nowhere as the source in question would.
func (r *Resolved) renamed(text string, like Source) string {
	return flagWord.ReplaceAllStringFunc(text, func(word string) string {
		s, ok := r.table.find(word[2:])
		if !ok {
			return word
		}
		source := r.From(s.Flag).Source
		if source == SourceDefault {
			source = like
		}
		switch {
		case source == SourceFile && s.Key != "":
			return s.Key
		case source == SourceVariable:
			return s.Variable()
		}
		return word
	})
}
