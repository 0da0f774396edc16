package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// Source is a kind of place where values are written.
type Source string

// The sources, the strongest first.
const (
	SourceFlag     Source = "flag"
	SourceVariable Source = "variable"
	SourceFile     Source = "file"
	SourceForeign  Source = "foreign variable"
	SourceDefault  Source = "default"
)

// Origin is where a value was written.
type Origin struct {
	Source Source
	// Name is the flag with its dashes, the variable, or the path of the file.
	Name         string
	Line, Column int // of a file, from 1
}

func (o Origin) String() string {
	switch {
	case o.Source == SourceDefault:
		return string(SourceDefault)
	case o.Line > 0:
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	}
	return o.Name
}

// Place is what the origin is called where the directory of a file is nobody's business.
func (o Origin) Place() string {
	switch o.Source {
	case SourceFlag:
		return "option " + o.Name
	case SourceFile:
		return filepath.Base(o.Name)
	case SourceVariable, SourceForeign, SourceDefault:
	}
	return o.Name
}

// Entry is what one place says of one setting. A list may be empty.
type Entry struct {
	From  Origin
	Items []Item
}

// Layer is all that one place says, by flag.
type Layer map[string]Entry

// Given collects what a command line says.
type Given struct {
	table Table
	layer Layer
}

// Declare declares the flags of the settings that are wanted, nil for all, and returns
// what the command line will say of them. Values are checked by [Given.Layer].
func (t Table) Declare(fs *pflag.FlagSet, wanted func(Setting) bool) *Given {
	g := &Given{table: t, layer: Layer{}}
	for _, s := range t {
		if wanted != nil && !wanted(s) {
			continue
		}
		f := fs.VarPF(&flagValue{setting: s, given: g}, s.Flag, "", s.help())
		if s.Value.form == formTruth {
			f.NoOptDefVal = "true"
		}
	}
	fs.SortFlags = false
	return g
}

// help is the usage with the default, where it says more than nothing.
func (s Setting) help() string {
	switch {
	case s.Value.list:
		return s.Usage + "; may be repeated"
	case s.Value.form == formTruth || s.Default == "":
		return s.Usage
	}
	return fmt.Sprintf("%s (default: %s)", s.Usage, s.Default)
}

// flagValue is one flag.
type flagValue struct {
	setting Setting
	given   *Given
}

// Set implements [pflag.Value]. It takes whatever is said: the check comes for all
// places at once and in the same words.
func (v *flagValue) Set(text string) error {
	v.given.Say(v.setting.Flag, text)
	return nil
}

// Says reports whether the command line sets the setting with a flag.
func (g *Given) Says(flag string) bool {
	_, ok := g.layer[flag]
	return ok
}

// Say sets it as a flag would. A setting that is not in the table is none.
func (g *Given) Say(flag, text string) {
	s, _ := g.table.find(flag)
	from := Origin{Source: SourceFlag, Name: "--" + flag}
	e := g.layer[flag]
	e.From = from
	if !s.Value.list {
		e.Items = nil
	}
	said := []string{text}
	if s.Value.commas {
		// An empty one stays, to be complained of: it is most likely a variable of a script
		// that was not set.
		said = strings.Split(text, ",")
	}
	for _, one := range said {
		e.Items = append(e.Items, Item{one, from})
	}
	g.layer[flag] = e
}

// String implements [pflag.Value].
func (v *flagValue) String() string { return "" }

// Type implements [pflag.Value].
func (v *flagValue) Type() string {
	if v.setting.Value.form == formTruth {
		return "bool" // which help knows
	}
	return v.setting.Value.name
}

// Layer is what the command line says. The error names what is wrong with it.
func (g *Given) Layer() (Layer, error) {
	out, f := Layer{}, faults{}
	if g == nil {
		return out, nil
	}
	for _, s := range g.table {
		if e, ok := g.layer[s.Flag]; ok {
			out[s.Flag] = f.check(s, e)
		}
	}
	return out, f.err()
}

// Args is the command line that says the same, with paths that do not depend on the
// directory in which it is used.
func (g *Given) Args() ([]string, error) {
	l, err := g.Layer()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("make paths absolute: %w", err)
	}
	var args []string
	for _, s := range g.table {
		for _, i := range l[s.Flag].Items {
			switch {
			case s.Value.form != formTruth:
				args = append(args, "--"+s.Flag, s.Value.placed(dir, i.Text))
			case i.Text == "true":
				args = append(args, "--"+s.Flag)
			default:
				args = append(args, "--"+s.Flag+"="+i.Text)
			}
		}
	}
	return args, nil
}
