package serverfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// rootKeys are the keys below which servers stand in files of any format.
func rootKeys() []string {
	return []string{"mcpServers", "servers", "mcp_servers", "context_servers", "mcp"}
}

// extensions is the key of Goose, whose files are YAML. In JSON it means other things.
const extensions = "extensions"

// table is one object of servers.
type table struct {
	key     string // from the root of the file, for people
	servers []field
	dialect dialect
	// allowed and excluded are lists of names beside the servers; allowed counts if it is one.
	allowed, excluded node
}

// off reports whether the lists of the file turn a server off.
func (t table) off(name string) bool {
	in := func(l node) bool {
		return slices.ContainsFunc(l.items, func(n node) bool { return n.text == name })
	}
	return in(t.excluded) || t.allowed.shape == list && !in(t.allowed)
}

// dialect is in what the words of one program mean something else than in other files.
type dialect struct {
	gemini     bool // mcp holds lists of names, and no servers
	bareDollar bool // $NAME is a variable too
	braces     bool // {env:NAME} is a variable
	shell      bool // $(command) is run by a shell
	millis     bool // times are milliseconds, also small ones
	startup    bool // timeout is about the start and not about calls
}

func dialectOf(path, root string) dialect {
	base, dir := filepath.Base(path), filepath.Base(filepath.Dir(path))
	switch {
	case base == "crush.json" || base == ".crush.json":
		return dialect{bareDollar: true, shell: true}
	case base == "settings.json" && dir == ".gemini":
		return dialect{gemini: true, bareDollar: true, millis: true}
	case root == "mcp": // OpenCode
		return dialect{braces: true, millis: true, startup: true}
	}
	return dialect{}
}

// tables finds the objects of servers in a file. workspace is the project whose servers
// are wanted of a file that has some for each.
func tables(path string, tree node, workspace string) ([]table, error) {
	var out []table
	isYAML := strings.HasPrefix(strings.ToLower(filepath.Ext(path)), ".y")
	for _, f := range tree.fields {
		if !slices.Contains(rootKeys(), f.key) && (f.key != extensions || !isYAML) {
			continue
		}
		if f.key == "mcp" && dialectOf(path, f.key).gemini {
			continue
		}
		key, value, root := f.key, f.value, f.key
		if inner, ok := nested(f); ok {
			key, value, root = "mcp.servers", inner, "servers"
		}
		servers, err := serversOf(key, value)
		if err != nil {
			return nil, err
		}
		t := table{key: key, servers: servers, dialect: dialectOf(path, root)}
		if mcp, ok := tree.get("mcp"); ok && t.dialect.gemini {
			t.allowed, _ = mcp.get("allowed")
			t.excluded, _ = mcp.get("excluded")
		}
		out = append(out, t)
	}
	if t, ok := projectTable(path, tree, workspace); ok {
		out = append(out, t)
	}
	return out, nil
}

// nested finds the servers in the settings of VS Code, where they stand below mcp.servers:
// an object of objects, which is no server of the name "servers".
func nested(f field) (node, bool) {
	inner, ok := f.value.get("servers")
	if f.key != "mcp" || !ok || inner.shape != object {
		return node{}, false
	}
	return inner, !slices.ContainsFunc(inner.fields, func(f field) bool { return f.value.shape != object })
}

// projectTable finds the servers that Claude Code keeps for one project in its user's file.
func projectTable(path string, tree node, workspace string) (table, bool) {
	projects, _ := tree.get("projects")
	project, ok := projects.get(workspace)
	if !ok || filepath.Base(path) != ".claude.json" {
		return table{}, false
	}
	servers, ok := project.get("mcpServers")
	return table{key: "projects." + workspace + ".mcpServers", servers: servers.fields}, ok && servers.shape == object
}

// serversOf is the servers of one root: an object by name, or a list of objects that name
// themselves.
func serversOf(key string, value node) ([]field, error) {
	switch value.shape {
	case object:
		return value.fields, nil
	case nothing:
		return nil, nil
	case list:
		var out []field
		for _, item := range value.items {
			name, ok := item.get("name")
			if !ok || name.shape != text {
				return nil, &FileError{Line: item.line, Message: "a server in the list " + key + " has no name", Advice: `give it a "name"`}
			}
			out = append(out, field{key: name.text, line: item.line, value: item})
		}
		return out, nil
	case text, number, truth:
	}
	return nil, &FileError{Line: value.line, Message: fmt.Sprintf("%s is %s and not an object of servers", key, value.shape), Advice: `write {"NAME": {"command": …}}`}
}

// noServers says that a file holds none of the roots.
func noServers(tree node) string {
	for _, f := range tree.fields {
		if near := policy.Nearest(f.key, rootKeys()); near != "" && f.value.shape == object {
			return fmt.Sprintf("holds no servers: %q is unknown: did you mean %s?", f.key, near)
		}
	}
	for _, f := range tree.fields {
		_, command := f.value.get("command")
		_, url := f.value.get("url")
		if command || url {
			return fmt.Sprintf(`holds no servers: put %q below "mcpServers"`, f.key)
		}
	}
	return "holds no servers: there is none of " + strings.Join(rootKeys(), ", ")
}

// inputsOf is what a file of VS Code says of the inputs that its users are asked for.
func inputsOf(tree node) map[string]string {
	out := map[string]string{}
	mcp, _ := tree.get("mcp")
	for _, n := range []node{tree, mcp} {
		inputs, _ := n.get("inputs")
		for _, i := range inputs.items {
			id, _ := i.get("id")
			description, _ := i.get("description")
			out[id.text] = description.text
		}
	}
	return out
}

// projectOf is the project that a file belongs to, empty for a file of the user.
func projectOf(path, home string) string {
	dir, base := filepath.Dir(path), filepath.Base(path)
	switch {
	case slices.Contains([]string{".vscode", ".cursor", ".codex", ".gemini", ".zed"}, filepath.Base(dir)):
		dir = filepath.Dir(dir)
	case slices.Contains([]string{".mcp.json", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json"}, base):
	default:
		return ""
	}
	if config := filepath.Join(home, ".config"); home != "" && (dir == filepath.Clean(home) || strings.HasPrefix(dir, config+string(filepath.Separator))) {
		return ""
	}
	return dir
}
