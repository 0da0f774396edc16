package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errAbsent says that the reference servers are not installed.
var errAbsent = errors.New("the reference servers are not installed: test/clients/setup.sh")

// world is where traces run: a folder of files, a memory, and what starts the servers.
type world struct {
	place, files string
	servers      []server
	node         string // Node's version
	versions     string
}

type server struct {
	name    string // as a model knows it
	command []string
	env     map[string]string
}

// newWorld finds the servers that test/clients/setup.sh installed.
func newWorld(ctx context.Context, root, place string) (*world, error) {
	var locks []byte
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(root, "test", "codemode", "node", name))
		if err != nil {
			return nil, err
		}
		locks = append(locks, text...)
	}
	sum := sha256.Sum256(locks)
	at := filepath.Join(root, ".cache", "clients", "servers-"+hex.EncodeToString(sum[:])[:16])
	if _, err := os.Stat(filepath.Join(at, "complete")); err != nil {
		return nil, errAbsent
	}
	w := &world{place: place, files: filepath.Join(place, "files")}
	node := filepath.Join(at, "bin", "node")
	if out, err := exec.CommandContext(ctx, node, "--version").Output(); err == nil {
		w.node = strings.TrimSpace(string(out))
	}
	start := func(name string, args ...string) []string {
		return append([]string{node, filepath.Join(at, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)
	}
	w.servers = []server{
		{name: "everything", command: start("everything")},
		{name: "files", command: start("filesystem", w.files)},
		{name: "memory", command: start("memory"), env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(place, "memory.jsonl")}},
	}
	var of struct{ Version string }
	text, err := os.ReadFile(filepath.Join(at, "node_modules", "@modelcontextprotocol", "server-memory", "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	w.versions = of.Version
	return w, err
}

// anew has the files as they were, and nothing in the memory.
func (w *world) anew() error {
	if err := errors.Join(os.RemoveAll(w.files), os.RemoveAll(filepath.Join(w.place, "memory.jsonl"))); err != nil {
		return err
	}
	for name, text := range fixtures() {
		path := filepath.Join(w.files, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// direct opens a session with each server, as a client does that has them configured.
func (w *world) direct(ctx context.Context) (map[string]*mcp.ClientSession, func(), error) {
	sessions := map[string]*mcp.ClientSession{}
	shut := func() {
		for _, s := range sessions {
			_ = s.Close()
		}
	}
	for _, s := range w.servers {
		session, err := connect(ctx, s.command, s.env)
		if err != nil {
			shut()
			return nil, nil, fmt.Errorf("server %s: %w", s.name, err)
		}
		sessions[s.name] = session
	}
	return sessions, shut, nil
}

// gearbox opens a session with Gearbox, which has the servers behind it.
func (w *world) gearbox(ctx context.Context, binary, data string) (map[string]*mcp.ClientSession, func(), error) {
	type configured struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}
	servers := map[string]configured{}
	for _, s := range w.servers {
		servers[s.name] = configured{s.command[0], s.command[1:], s.env}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(w.place, "mcp_servers.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, nil, err
	}
	command := []string{binary, "serve", "--data-dir", data, "--mcp-servers", file, "--allow", "tool(**)"}
	// What is said at the start is what was known by then: the second start knows the tools.
	for again := false; ; again = true {
		session, err := connect(ctx, command, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("gearbox: %w", err)
		}
		if again {
			return map[string]*mcp.ClientSession{"": session}, func() { _ = session.Close() }, nil
		}
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": ""}})
		if err == nil && r.IsError {
			err = errors.New(textOf(r))
		}
		if err := errors.Join(err, session.Close()); err != nil {
			return nil, nil, fmt.Errorf("gearbox: %w", err)
		}
	}
}

func connect(ctx context.Context, command []string, env map[string]string) (*mcp.ClientSession, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = os.Environ()
	for name, v := range env {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
}
