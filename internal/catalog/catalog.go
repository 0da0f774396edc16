package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/tool"
)

// Options are what a catalog is made with.
type Options struct {
	// Trusted tells whether the operator trusts the hints of a server, by its name. nil
	// trusts none: then hints are shown as claims.
	Trusted func(server string) bool
	// Note is what is to be said of a tool besides its own word, such as "needs approval".
	// It is shown in comments. nil says nothing.
	Note func(tool.Definition) string
	// Previous is the catalog before, whose entries are taken over where their definition
	// is the same; nil for none.
	Previous *Catalog
}

// Catalog is all tools of all servers at one moment. It does not change and is safe for
// concurrent use.
type Catalog struct {
	servers []*Server
	entries []Entry // by server and raw name
	named   map[string]*Server
	names   names
	index   index
}

// Server is one server of a catalog.
type Server struct {
	tool.Server

	Module string
	// Faults are what is wrong with its list of tools.
	Faults  []string
	Entries []Entry // by raw name
}

// New makes a catalog. It never fails: what is wrong with a tool stands in its
// [Entry.Faults], and what is wrong with a list of tools in [Server.Faults].
func New(servers []tool.Server, o Options) *Catalog {
	c := &Catalog{named: map[string]*Server{}}
	sorted := slices.Clone(servers)
	slices.SortStableFunc(sorted, func(a, b tool.Server) int { return cmp.Compare(a.Name, b.Name) })
	var aliases []string
	for _, s := range sorted {
		if first, again := c.named[s.Name]; again {
			first.Faults = append(first.Faults, "is configured twice under this name; the first one counts")
			continue
		}
		server := &Server{Server: s}
		c.named[s.Name] = server
		c.servers = append(c.servers, server)
		aliases = append(aliases, importName(s))
	}
	c.nameModules(aliases)
	for _, s := range c.servers {
		s.fill(o)
		for i, e := range s.Entries {
			s.Entries[i].Ambiguous = c.Ambiguous(e.Definition)
		}
		c.entries = append(c.entries, s.Entries...)
	}
	c.names = namesOf(c.servers)
	c.index = indexOf(c.entries)
	return c
}

// Ambiguous reports whether the server.tool of a tool reads as one of another server too.
// That no such tool is listed now makes it no clearer: a rule is for what a server may list.
func (c *Catalog) Ambiguous(d tool.Definition) bool {
	return slices.ContainsFunc(c.servers, func(s *Server) bool {
		return s.Name != d.Server && strings.HasPrefix(d.ID(), s.Name+".")
	})
}

// nameModules gives each server a module. Of servers with one alias the first has it.
func (c *Catalog) nameModules(aliases []string) {
	modules := identify(unique(aliases), moduleTaken)
	used := map[string]bool{}
	var others []*Server
	for _, s := range c.servers {
		s.Module = modules[importName(s.Server)]
		if used[s.Module] {
			others = append(others, s)
		}
		used[s.Module] = true
	}
	for _, s := range others {
		for base, n := s.Module, 2; used[s.Module]; n++ {
			s.Module = numbered(base, n)
		}
		used[s.Module] = true
	}
}

// importName is what the operator would have programs import.
func importName(s tool.Server) string { return cmp.Or(s.Alias, s.Name) }

func unique(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return slices.Compact(all)
}

// fill makes the entries of a server.
func (s *Server) fill(o Options) {
	byName := map[string]tool.Definition{}
	var raw []string
	for _, d := range s.Tools {
		d.Server = s.Name
		if _, again := byName[d.Name]; again {
			s.Faults = append(s.Faults, "lists the tool "+quoted(cut(d.Name, maxName))+" twice; the first one counts")
			continue
		}
		byName[d.Name] = d
		raw = append(raw, d.Name)
	}
	functions := identify(raw, functionTaken)
	slices.Sort(raw)
	for _, name := range raw {
		s.Entries = append(s.Entries, entryOf(byName[name], s.Module, functions[name], o))
	}
}

// Servers are all servers by name.
func (c *Catalog) Servers() []*Server { return slices.Clone(c.servers) }

// Entries are all tools, by server and raw name.
func (c *Catalog) Entries() []Entry { return slices.Clone(c.entries) }

// Server is the server of that name, alias or module. The error is a [*NotFoundError].
func (c *Catalog) Server(name string) (*Server, error) {
	if s, ok := c.named[name]; ok {
		return s, nil
	}
	for _, s := range c.servers {
		if s.Module == name {
			return s, nil
		}
	}
	var found []*Server
	for _, s := range c.servers {
		if s.Alias == name {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var all []string
	for _, s := range c.servers {
		all = append(all, s.Module)
	}
	return nil, &NotFoundError{Name: name, Close: closest(name, all, maxClose, resembling), Servers: all}
}

// Tool is the tool with that raw name on that server, as a call frame names it; failing
// that the one with that name in Python. The error is a [*NotFoundError].
func (c *Catalog) Tool(server, name string) (Entry, error) {
	s, err := c.Server(server)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range s.Entries {
		if e.Definition.Name == name {
			return e, nil
		}
	}
	for _, e := range s.Entries {
		if e.Python == name {
			return e, nil
		}
	}
	var all []string
	for _, e := range s.Entries {
		all = append(all, e.Name())
	}
	return Entry{}, &NotFoundError{Name: server + "." + name, Close: closest(s.Module+"."+name, all, maxClose, resembling), Servers: []string{s.Module}}
}

func (c *Catalog) serverNames() []string {
	var all []string
	for _, s := range c.servers {
		all = append(all, s.Name)
	}
	return all
}

// summary is what a server is for: the operator's word before its own.
func (s *Server) summary() string {
	if s.Description != "" {
		return sentence(s.Description)
	}
	return sentence(strings.TrimSpace(s.Instructions))
}
