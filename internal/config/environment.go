package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/gear/strictyaml"
)

// environment is what the variables NAME=VALUE say. An empty one says nothing, since
// that is how one is taken back where it cannot be removed.
func (t Table) environment(environ []string) (Layer, error) {
	set := variables(environ)
	l, f := Layer{}, faults{}
	for _, s := range t {
		text := set[s.Variable()]
		if text == "" {
			continue
		}
		from := Origin{Source: SourceVariable, Name: s.Variable()}
		e := Entry{From: from}
		for _, one := range s.Value.parts(text) {
			e.Items = append(e.Items, Item{s.Value.placed("", one), from})
		}
		l[s.Flag] = f.check(s, e)
	}
	return l, f.err()
}

func (v Value) parts(text string) []string {
	if v.list {
		return split(text)
	}
	return []string{text}
}

func (v Value) placed(dir, text string) string {
	if v.place == nil {
		return text
	}
	return v.place(dir, text)
}

// variables are those that are set to something; the last one of a name holds.
func variables(environ []string) map[string]string {
	set := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			set[name] = value
		}
	}
	return set
}

// misspelt finds variables that look like one of a setting.
func (t Table) misspelt(environ []string) []string {
	var known, out []string
	for _, s := range t {
		known = append(known, s.Variable())
	}
	for _, name := range slices.Sorted(maps.Keys(variables(environ))) {
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) {
			continue
		}
		if hint := nearest(name, known); hint != "" {
			out = append(out, "the environment variable "+name+" sets nothing"+hint)
		}
	}
	return out
}

// foreign is what variables of other programs say, weaker than the layers of our own.
// One that is overruled is told; one that is not has to be understood.
func (t Table) foreign(environ []string, stronger ...Layer) (Layer, []string, error) {
	set := variables(environ)
	l, f := Layer{}, faults{}
	var warnings []string
	for _, s := range t {
		if s.Foreign == nil || set[s.Foreign.Variable] == "" {
			continue
		}
		name, word := s.Foreign.Variable, set[s.Foreign.Variable]
		meant, known := s.Foreign.meaning(s.Value, word)
		from := Origin{Source: SourceForeign, Name: name}
		over, overruled := strongest(s.Flag, stronger)
		switch {
		case overruled && known && len(over.Items) == 1 && over.Items[0].Text == meant:
		case overruled:
			warnings = append(warnings, name+"="+word+" is not followed: "+over.From.String()+" says "+strings.Join(texts(over.Items), ", "))
		case !known && s.Foreign.Words == nil:
			f.check(s, Entry{Items: []Item{{word, from}}})
		case !known:
			words := slices.Sorted(maps.Keys(s.Foreign.Words))
			f.add("%s %q: not one of %s%s", name, word, strictyaml.List(words), nearest(word, words))
		default:
			l[s.Flag] = Entry{From: from, Items: []Item{{meant, from}}}
		}
	}
	return l, warnings, f.err()
}

func strongest(flag string, layers []Layer) (Entry, bool) {
	for _, l := range layers {
		if e, ok := l[flag]; ok {
			return e, true
		}
	}
	return Entry{}, false
}
