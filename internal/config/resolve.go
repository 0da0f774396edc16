package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// Sources are the places in which values are looked for.
type Sources struct {
	// Given is what the command line says; nil for nothing.
	Given *Given
	// Environ are the variables, NAME=VALUE.
	Environ []string
	// DataDir makes the data directory of what was said about it, perhaps nothing.
	DataDir func(said string) (string, error)
}

// Resolved is what holds, setting by setting, and why.
type Resolved struct {
	// File is the configuration file, and Found whether it is there.
	File  string
	Found bool
	// Warnings are sentences for the operator about what was written in vain.
	Warnings []string

	table     Table
	values    map[string]Entry
	overruled map[string][]Item
}

// Load reads every place and decides which one wins: flags, then variables, then the
// file, then variables of other programs. The error is everything that is wrong in any
// of them, also where a stronger place overrules it.
func (t Table) Load(s Sources) (*Resolved, error) {
	r := &Resolved{table: t, values: map[string]Entry{}, overruled: map[string][]Item{}}
	given, errGiven := s.Given.Layer()
	environ, errEnviron := t.environment(s.Environ)
	if err := errors.Join(errGiven, errEnviron); err != nil {
		return nil, err
	}
	var err error
	var named bool
	if r.File, named, err = locate(s.DataDir, given, environ); err != nil {
		return nil, err
	}
	var file Layer
	if file, r.Found, err = t.findFile(r.File, named); err != nil {
		return nil, err
	}
	foreign, warnings, err := t.foreign(s.Environ, given, environ, file)
	if err != nil {
		return nil, err
	}
	r.Warnings = append(t.misspelt(s.Environ), warnings...)
	for _, s := range t {
		if e, ok := winner(s, given, environ, file, foreign); ok {
			r.values[s.Flag] = e
			r.overruled[s.Flag] = weaker(s, e, given, environ, file)
		}
	}
	return r, nil
}

// Holding is what holds when one layer is all that there is.
func (t Table) Holding(l Layer) *Resolved { return &Resolved{table: t, values: l} }

// winner is what holds of one setting, the strongest layer first.
func winner(s Setting, layers ...Layer) (Entry, bool) {
	if !s.Adds {
		return strongest(s.Flag, layers)
	}
	var all Entry
	found := false
	for _, l := range slices.Backward(layers) {
		if e, ok := l[s.Flag]; ok {
			all.From, all.Items, found = e.From, append(all.Items, e.Items...), true
		}
	}
	return all, found
}

// weaker are the values that layers say and that are not the one that holds.
func weaker(s Setting, holds Entry, layers ...Layer) []Item {
	var all []Item
	for _, l := range layers {
		if e, ok := l[s.Flag]; ok && !s.Adds && e.From != holds.From {
			all = append(all, e.Items...)
		}
	}
	return all
}

// Fill puts the values into the variables of a table with the same settings.
func (r *Resolved) Fill(t Table) {
	for _, s := range t {
		if e, ok := r.values[s.Flag]; ok && (s.Value.list || len(e.Items) > 0) {
			s.Value.put(e.Items)
		}
	}
}

// Overruled are the values of a setting that do not hold, because a stronger place says
// something else.
func (r *Resolved) Overruled(flag string) []Item { return r.overruled[flag] }

// From is where the value of a setting was written.
func (r *Resolved) From(flag string) Origin {
	if e, ok := r.values[flag]; ok {
		return e.From
	}
	return Origin{Source: SourceDefault}
}

// Change is how settings differ between two readings.
type Change struct {
	// Taken are the names of settings whose new value a running server takes up,
	// Waiting those that wait for a restart.
	Taken, Waiting []string
}

// Update is r as far as a running server can follow it from what it was started with:
// where a restart is needed the old value stays.
func (r *Resolved) Update(old *Resolved) (*Resolved, Change) {
	next := &Resolved{File: r.File, Found: r.Found, Warnings: r.Warnings, table: r.table, values: map[string]Entry{}}
	var c Change
	for _, s := range r.table {
		from, to := old.values[s.Flag], r.values[s.Flag]
		_, before := old.values[s.Flag]
		_, now := r.values[s.Flag]
		same := before == now && slices.Equal(texts(from.Items), texts(to.Items))
		switch {
		case same, s.Reload:
			if !same {
				c.Taken = append(c.Taken, s.name())
			}
			if now {
				next.values[s.Flag] = to
			}
		default:
			c.Waiting = append(c.Waiting, s.name())
			if before {
				next.values[s.Flag] = from
			}
		}
	}
	return next, c
}

// name is what a setting is called in messages about none of its places.
func (s Setting) name() string {
	if s.Key == "" {
		return "--" + s.Flag
	}
	return s.Key
}

// Digest names the values, wherever they were written.
func (r *Resolved) Digest() execution.Digest {
	parts := [][]byte{[]byte("gearbox configuration 1")}
	for _, s := range r.table {
		if e, ok := r.values[s.Flag]; ok {
			parts = append(parts, []byte(s.Flag), []byte(strings.Join(texts(e.Items), "\n")))
		}
	}
	return execution.DigestOf(parts...)
}
