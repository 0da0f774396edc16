// Package config is how an operator sets things: what a setting is, where its value may
// be written (a flag, an environment variable, the file gearbox.yaml), which place wins,
// and how all of it is checked, printed and described.
//
// A setting is one row of a [Table]. Everything else comes from the row: the flag and
// its help, the variable, the key of the file with its schema, what is printed, the
// page of the documentation, and whether a running server takes a change up.
//
// What belongs here is that machinery. What does not: which settings there are (the
// table is the command line's, which knows what they set) and any decision about a run.
// No setting holds a secret: where one is needed the setting names its file, so that
// whatever is read here may be printed and logged.
package config

import (
	"strings"
)

// Setting is one row of the table.
type Setting struct {
	// Key is its name in the file, below its sections: "pool.size". It is empty for
	// what no file can say, such as where the file is.
	Key string
	// Flag is its name on the command line, without dashes. It names the setting.
	Flag string
	// Value is what may be written, and the variable that it goes to.
	Value Value
	// Default says in words what holds when nothing is written.
	Default string
	// Usage is the line of the help, in which a word in backquotes stands for the value.
	Usage string
	// Meaning says more, for the documentation. It may be empty.
	Meaning string
	// Reload tells that a running server takes a change up.
	Reload bool
	// Adds tells that what is written in several places holds together. Otherwise only
	// what is written in the strongest place holds.
	Adds bool
	// ServerOnly tells that commands that run one program have no such flag.
	ServerOnly bool
	// Foreign is a variable of another program that means the same, weaker than all
	// places of our own.
	Foreign *Foreign
}

// Foreign is a variable of another program, and what its words mean here; without words
// its value is one of ours.
type Foreign struct {
	Variable string
	Words    map[string]string
}

// meaning is what a value of the variable means for the setting.
func (f Foreign) meaning(v Value, text string) (string, bool) {
	if f.Words == nil {
		text, err := v.accept(v.placed("", text))
		return text, err == nil
	}
	meant, known := f.Words[strings.ToLower(strings.TrimSpace(text))]
	return meant, known
}

// The settings that say where the file is. They stand in no file.
const (
	FlagFile    = "config"
	FlagDataDir = "data-dir"
)

// FileName is the name of the file in the data directory.
const FileName = "gearbox.yaml"

// prefix begins every variable.
const prefix = "GEARBOX_"

// Variable is the environment variable of the setting.
func (s Setting) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_"))
}

// described is the usage as a sentence without the marks of the help.
func (s Setting) described() string { return strings.ReplaceAll(s.Usage, "`", "") }

// Table is all settings, in the order in which they are shown.
type Table []Setting

// find is the setting with a flag.
func (t Table) find(flag string) (Setting, bool) {
	for _, s := range t {
		if s.Flag == flag {
			return s, true
		}
	}
	return Setting{}, false
}

// section is a mapping of the file.
type section struct {
	names    []string // in the table's order
	settings map[string]Setting
	sections map[string]*section
}

// sections are the settings of the file as it nests them.
func (t Table) sections() *section {
	root := newSection()
	for _, s := range t {
		if s.Key == "" {
			continue
		}
		at, path := root, strings.Split(s.Key, ".")
		for _, name := range path[:len(path)-1] {
			at = at.below(name)
		}
		last := path[len(path)-1]
		at.names, at.settings[last] = append(at.names, last), s
	}
	return root
}

func newSection() *section {
	return &section{settings: map[string]Setting{}, sections: map[string]*section{}}
}

func (s *section) below(name string) *section {
	if s.sections[name] == nil {
		s.names, s.sections[name] = append(s.names, name), newSection()
	}
	return s.sections[name]
}
