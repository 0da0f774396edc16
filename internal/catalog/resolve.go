package catalog

import (
	"slices"
	"strings"
)

// maxClose is how many names are told of those that were perhaps meant.
const maxClose = 3

// names find tools by what they may be called.
type names struct {
	exact map[string][]int // server.tool by raw names
	other map[string][]int // with an alias, a module or a Python name in it
	all   []string         // module.function, by number
}

func namesOf(servers []*Server) names {
	n := names{exact: map[string][]int{}, other: map[string][]int{}}
	for _, s := range servers {
		for _, e := range s.Entries {
			i := len(n.all)
			n.all = append(n.all, e.Name())
			n.exact[e.Definition.ID()] = append(n.exact[e.Definition.ID()], i)
			for _, server := range []string{s.Name, s.Alias, s.Module} {
				for _, name := range []string{e.Definition.Name, e.Python} {
					if id := server + "." + name; server != "" && !slices.Contains(n.other[id], i) {
						n.other[id] = append(n.other[id], i)
					}
				}
			}
		}
	}
	return n
}

// Resolve finds a tool by server.tool, where the server may be named by its name, its alias
// or its module, and the tool by its raw name or by its name in Python. Raw names, which
// may hold dots, come first. The error is a [*NotFoundError].
func (c *Catalog) Resolve(name string) (Entry, error) {
	for _, table := range []map[string][]int{c.names.exact, c.names.other} {
		found := table[name]
		if len(found) == 0 {
			found = table[strings.TrimPrefix(name, "tools.")]
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return c.entries[found[0]], nil
		}
		var meant []string
		for _, i := range found[:min(len(found), maxClose)] {
			meant = append(meant, c.names.all[i])
		}
		return Entry{}, &NotFoundError{Name: name, Close: meant, Ambiguous: true, Servers: c.serverNames()}
	}
	return Entry{}, &NotFoundError{Name: name, Close: c.close(name), Servers: c.serverNames()}
}

// close are names like one that does not exist. A tool that is called so on some server is
// closer than any likeness.
func (c *Catalog) close(name string) []string {
	_, last, dotted := strings.Cut(name, ".")
	var found []string
	for _, e := range c.entries {
		if n := e.Definition.Name; n == name || e.Python == name || dotted && (n == last || e.Python == last) {
			found = append(found, e.Name())
		}
	}
	for _, like := range closest(name, c.names.all, maxClose, resembling) {
		if !slices.Contains(found, like) {
			found = append(found, like)
		}
	}
	return found[:min(len(found), maxClose)]
}
