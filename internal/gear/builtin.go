package gear

import "embed"

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// builtinNames lists the built-in gears, from the one that permits least.
func builtinNames() []string {
	return []string{"read_only", "restricted", "user_confirmed", "full_trust"}
}

// Builtin is the four gears that come with the program, from the one that
// permits least.
func Builtin() []Gear {
	out := make([]Gear, 0, len(builtinNames()))
	for _, name := range builtinNames() {
		out = append(out, mustBuiltin(name))
	}
	return out
}

// mustBuiltin reads an embedded file. A mistake in one is a mistake in the
// program, which a test would have found.
func mustBuiltin(name string) Gear {
	data, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		panic("gear: " + err.Error())
	}
	r := newReader(name, "")
	d := r.read(data)
	g := d.over(blank(name, "built in"))
	r.check(d, g)
	if err := r.Err(); err != nil {
		panic("gear: built in: " + err.Error())
	}
	return g
}
