package cli

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// finds is a PATH with these programs.
func finds(programs ...string) func(string) (string, error) {
	return func(name string) (string, error) {
		if slices.Contains(programs, name) {
			return "/bin/" + name, nil
		}
		return "", errors.New("not there")
	}
}

func TestTheDemoStartsServersThatAreInstalledOrHasThemFetched(t *testing.T) {
	files := reference{name: "files", server: "filesystem", args: []string{"/folder"}}
	for _, c := range []struct {
		programs []string
		want     string // the command, or what the error names
	}{
		{[]string{"node", "npx", "mcp-server-filesystem"}, "/bin/mcp-server-filesystem /folder"},
		{[]string{"node", "npx"}, "/bin/npx -y @modelcontextprotocol/server-filesystem@" + referenceVersion + " /folder"},
		{[]string{"node"}, "npx is not on the PATH"},
		{[]string{"npx", "mcp-server-filesystem"}, "node is not on the PATH"},
	} {
		got, err := files.configure(finds(c.programs...))
		said := strings.Join(append([]string{got.Command}, got.Args...), " ")
		if err != nil {
			said = err.Error()
			var h *hinted
			if !errors.As(err, &h) || !strings.Contains(h.Hint(), "install Node.js") {
				t.Errorf("%v: %v does not say what to install", c.programs, err)
			}
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%v: %s instead of %s", c.programs, said, c.want)
		}
	}
}

func TestTheDemoFetchesTheVersionsThatAreTested(t *testing.T) {
	text, err := os.ReadFile("../../test/codemode/node/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var tested struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &tested); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"everything", "filesystem", "memory"} {
		if got := tested.Dependencies[referencePackage+name]; got != referenceVersion {
			t.Errorf("%s: tested is %q, fetched would be %q", name, got, referenceVersion)
		}
	}
}
