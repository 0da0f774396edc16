//go:build linux

package codemode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// peerEnv has the test's own binary be an MCP server, and names its script.
const peerEnv = "GEARBOX_TEST_PEER"

// peer is a server of ours, and what it received.
type peer struct {
	t    testing.TB
	path string
}

// newPeer makes a server that does what the mode says, and is honest otherwise.
func newPeer(t testing.TB, mode string, tools ...string) *peer {
	t.Helper()
	p := &peer{t: t, path: filepath.Join(t.TempDir(), "script.json")}
	p.offers(mode, tools...)
	return p
}

// offers replaces the script: how the server behaves, and definitions of its tools byte for
// byte, or none for those of its own. Definitions are read again whenever tools are listed.
func (p *peer) offers(mode string, tools ...string) {
	p.t.Helper()
	// Definitions that are no JSON, or none that Go reads, are data too.
	write(p.t, p.path, strings.Join(append([]string{mode}, tools...), "\n"))
}

// entry is the server in a configuration file.
func (p *peer) entry(more ...map[string]any) map[string]any {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	env := map[string]any{peerEnv: p.path}
	e := map[string]any{"command": self, "env": env}
	for _, m := range more {
		for k, v := range m {
			if k == "env" {
				for name, text := range v.(map[string]any) {
					env[name] = text
				}
				continue
			}
			e[k] = v
		}
	}
	return e
}

// received is a call as it came.
type received struct {
	Tool      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// calls are those that reached the server, in order.
func (p *peer) calls() []received {
	p.t.Helper()
	text, err := os.ReadFile(p.path + ".calls")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	var all []received
	for line := range bytes.Lines(text) {
		var r received
		if err := json.Unmarshal(line, &r); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// noted is what the server noted under a name.
func (p *peer) noted(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(p.path + "." + name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(text)
}

// --- The server itself ---------------------------------------------------------------

// question is a message that the server gets.
type question struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
		ProtocolVersion string          `json:"protocolVersion"`
		Meta            struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// wire is the server's end, written by hand: what a library would not send has to be sent.
type wire struct {
	path string
	out  *bufio.Writer
	held []json.RawMessage // calls that wait for others
	// wrong handles what the mode is about, and reports whether it did. before is written
	// ahead of each answer.
	wrong  func(*wire, question) bool
	before func(*wire)
}

func peerMain(path string) int {
	w := &wire{path: path, out: bufio.NewWriter(os.Stdout)}
	mode, _ := w.script()
	w.note("env", strings.Join(os.Environ(), "\n"))
	if begin, ok := beginnings[mode]; ok {
		begin(w)
	}
	w.wrong, w.before = wrongs[mode], noises[mode]
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var q question
		if json.Unmarshal(line, &q) != nil || q.Method == "" {
			continue
		}
		if w.wrong == nil || !w.wrong(w, q) {
			w.answer(q)
		}
		_ = w.out.Flush() // whoever is gone needs nothing
	}
}

func (w *wire) script() (mode string, tools []string) {
	text, err := os.ReadFile(w.path)
	if err != nil {
		panic(err)
	}
	lines := strings.Split(string(text), "\n")
	return lines[0], lines[1:]
}

// note appends to what the server noted under a name.
func (w *wire) note(name, text string) {
	f, err := os.OpenFile(w.path+"."+name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(text + "\n"); err != nil {
		panic(err)
	}
}

func (w *wire) print(text string) {
	_, _ = w.out.WriteString(text)
	_ = w.out.Flush()
}

func (w *wire) say(id json.RawMessage, result string) {
	if w.before != nil {
		w.before(w)
	}
	w.print(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result))
}

func (w *wire) refuse(id json.RawMessage, code int, message string) {
	w.print(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, message))
}

// say with one text.
func (w *wire) text(id json.RawMessage, text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	w.say(id, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
}

// ownTools are what a server offers whose script names nothing.
var ownTools = []string{
	tool("echo", `{"type":"object","additionalProperties":true}`),
	tool("answer", `{"type":"object","properties":{"result":{}},"required":["result"]}`),
	tool("big", `{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}`),
	tool("together", `{"type":"object","properties":{"n":{"type":"integer"},"many":{"type":"integer"}},"required":["n","many"]}`),
	tool("announce", `{"type":"object"}`),
	tool("die", `{"type":"object"}`),
	tool("lose", `{"type":"object"}`),
	tool("refuse", `{"type":"object","properties":{"message":{"type":"string"}}}`),
}

// tool is a definition in short.
func tool(name, schema string) string {
	return fmt.Sprintf(`{"name":%q,"description":"A tool.","inputSchema":%s}`, name, schema)
}

func (w *wire) answer(q question) {
	switch {
	case q.ID == nil:
	case q.Method == "initialize":
		w.say(q.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},"resources":{}},"serverInfo":{"name":"peer","version":"1"}}`, version(q)))
	case q.Method == "tools/list":
		all := ownTools
		if _, tools := w.script(); len(tools) > 0 {
			all = tools
		}
		w.say(q.ID, `{"tools":[`+strings.Join(all, ",")+`]}`)
	case q.Method == "tools/call":
		w.note("calls", fmt.Sprintf(`{"name":%q,"arguments":%s}`, q.Params.Name, q.Params.Arguments))
		w.call(q)
	case q.Method == "ping":
		w.say(q.ID, "{}")
	default:
		w.refuse(q.ID, -32601, "method not found")
	}
}

func version(q question) string {
	if v := q.Params.ProtocolVersion; slices.Contains([]string{"2025-03-26", "2025-06-18", "2025-11-25"}, v) {
		return v
	}
	return "2025-11-25"
}

func (w *wire) call(q question) {
	var a struct {
		Result  string `json:"result"`
		Bytes   int    `json:"bytes"`
		Many    int    `json:"many"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(q.Params.Arguments, &a) // a tool takes what it likes
	switch q.Params.Name {
	case "answer":
		w.say(q.ID, canned(a.Result))
	case "big":
		w.text(q.ID, strings.Repeat("0123456789", a.Bytes/10))
	case "together":
		// Each waits until there are as many as it says.
		if w.held = append(w.held, q.ID); len(w.held) >= a.Many {
			w.note("most", fmt.Sprint(len(w.held)))
			for _, id := range w.held {
				w.say(id, fmt.Sprintf(`{"content":[],"structuredContent":{"id":%s}}`, id))
			}
			w.held = nil
		}
	case "announce":
		w.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		w.text(q.ID, "announced")
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(9)
	case "lose":
	case "refuse":
		w.refuse(q.ID, -32602, a.Message)
	default:
		w.say(q.ID, `{"content":[],"structuredContent":`+string(q.Params.Arguments)+`}`)
	}
}
