package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The reference servers of the protocol, as npm has them.
const (
	referencePackage = "@modelcontextprotocol/server-"
	referenceVersion = "2026.8.31"
)

// reference is one of them.
type reference struct {
	name   string // that programs import
	server string // of the package, and of its program
	args   []string
	env    map[string]string
}

// configured is a server as mcp_servers.json has it.
type configured struct {
	Command        string            `json:"command"`
	Args           []string          `json:"args"`
	Env            map[string]string `json:"env,omitempty"`
	TrustHints     bool              `json:"trust_hints"`
	StartupTimeout string            `json:"startup_timeout"`
}

// demoServers makes the folder that the demo works on and the file that configures its
// servers.
func (a *app) demoServers(place string) (folder, config string, err error) {
	folder, config = filepath.Join(place, "files"), filepath.Join(place, "mcp_servers.json")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "orders.csv"), []byte(demoOrders), 0o600); err != nil {
		return "", "", err
	}
	servers := map[string]configured{}
	for _, r := range []reference{
		{name: "everything", server: "everything"},
		{name: "files", server: "filesystem", args: []string{folder}},
		{name: "memory", server: "memory", env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(place, "memory.jsonl")}},
	} {
		if servers[r.name], err = r.configure(exec.LookPath); err != nil {
			return "", "", err
		}
		a.printf("server %s: %s\n", r.name, strings.Join(append([]string{servers[r.name].Command}, servers[r.name].Args...), " "))
	}
	text, err := json.MarshalIndent(map[string]any{"servers": servers}, "", "  ")
	if err != nil {
		return "", "", err
	}
	return folder, config, os.WriteFile(config, text, 0o600)
}

// configure has a server started that is installed, or else by npx, which fetches it. These
// servers are trusted to say of their tools which only read: those ask nobody.
func (r reference) configure(find func(string) (string, error)) (configured, error) {
	// The first start may fetch the package.
	c := configured{Args: r.args, Env: r.env, TrustHints: true, StartupTimeout: "3m"}
	if _, err := find("node"); err != nil {
		return c, noNode("node")
	}
	var err error
	if c.Command, err = find("mcp-server-" + r.server); err == nil {
		return c, nil
	}
	if c.Command, err = find("npx"); err != nil {
		return c, noNode("npx")
	}
	c.Args = append([]string{"-y", referencePackage + r.server + "@" + referenceVersion}, r.args...)
	return c, nil
}

func noNode(program string) error {
	return &hinted{
		fmt.Errorf("the servers of this demo are Node programs, and %s is not on the PATH", program),
		"install Node.js 20 or later (https://nodejs.org), which brings node and npx",
	}
}
