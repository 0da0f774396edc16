package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// behave is a server that does one thing wrong. Those that only have to answer by hand
// are raw: what a library would not send has to be sent.
func behave(mode string) {
	switch mode {
	case "honest":
		_ = tools().Run(context.Background(), &mcp.StdioTransport{})
	case "exits":
		fmt.Fprintln(os.Stderr, "cannot read settings: TOKEN=sk-abcdefghijklmnopqrstuvwxyz0123")
		os.Exit(3)
	case "hangs":
		select {}
	case "noise":
		for i := range 50 {
			fmt.Fprintf(os.Stdout, "loading %d…\n", i)
		}
		raw(nil)
	case "babble":
		for {
			fmt.Fprintln(os.Stdout, "hello, I am no server")
		}
	case "endless line":
		for {
			fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<16))
		}
	case "stderr":
		go func() {
			for i := 0; ; i++ {
				fmt.Fprintln(os.Stderr, "line", i)
			}
		}()
		raw(nil)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "600") //nolint:forbidigo // it has to outlive this program
		if err := child.Start(); err != nil {
			panic(err)
		}
		mark("pids", strconv.Itoa(os.Getpid())+" "+strconv.Itoa(child.Process.Pid))
		go raw(nil)
		select {}
	default:
		raw(modes[mode])
	}
}

// request is what a raw server reads.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// raw answers by hand, with the older protocol. on handles what the mode is about, and
// reports whether it did.
func raw(on func(request) bool) {
	r := bufio.NewReader(os.Stdin)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var q request
		if json.Unmarshal(line, &q) != nil {
			continue
		}
		if q.Method == "" {
			answered(line)
			continue
		}
		if on != nil && on(q) {
			continue
		}
		switch {
		case q.ID == nil:
		case q.Method == "initialize":
			say(q.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"0"}}`)
		case q.Method == "tools/list":
			say(q.ID, `{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}`)
		case q.Method == "tools/call":
			say(q.ID, `{"content":[{"type":"text","text":"ok"}]}`)
		default:
			refuse(q.ID, -32601, "method not found")
		}
	}
}

func say(id json.RawMessage, result string) {
	fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func refuse(id json.RawMessage, code int, message string) {
	fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, message)
}

// modes are behaviours of raw servers.
var modes = map[string]func(request) bool{
	"dies at the probe": func(q request) bool {
		if q.Method == "server/discover" {
			os.Exit(1)
		}
		return false
	},
	"silent at the probe": func(q request) bool { return q.Method == "server/discover" },
	"dies in mid-call": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		if strings.Contains(string(q.Params), "die") {
			fmt.Fprintln(os.Stderr, "panic: out of cheese")
			os.Exit(9)
		}
		return false
	},
	"loses replies": func(q request) bool {
		if q.Method == "notifications/cancelled" {
			mark("cancelled", string(q.Params))
		}
		return q.Method == "tools/call"
	},
	"forges": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		say(json.RawMessage("99999"), `{"content":[{"type":"text","text":"forged"}]}`)
		say(json.RawMessage(`"`+string(q.ID)+`"`), `{"content":[{"type":"text","text":"of another type"}]}`)
		say(q.ID, `{"content":[{"type":"text","text":"first"}]}`)
		say(q.ID, `{"content":[{"type":"text","text":"second"}]}`)
		return true
	},
	"asks": func(q request) bool {
		switch {
		case q.Method == "tools/call":
			mark("call", string(q.ID))
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":"a","method":"roots/list"}`)
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":"b","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":"c","method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}}`)
			asked.call = q.ID
			return true
		}
		return false
	},
	"floods with questions": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		for i := range 1 << 20 {
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":"x%d","method":"ping"}`+"\n", i)
		}
		return true
	},
	"floods with notices": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		for i := 0; ; i++ {
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`)
			if i%100 == 0 {
				mark("sent", strconv.Itoa(i))
			}
		}
	},
	"a hundred thousand tools": func(q request) bool {
		if q.Method != "tools/list" {
			return false
		}
		var all []string
		for i := range 100_000 {
			all = append(all, fmt.Sprintf(`{"name":"t%06d","inputSchema":{"type":"object"}}`, i))
		}
		say(q.ID, `{"tools":[`+strings.Join(all, ",")+`]}`)
		return true
	},
	"endless pages": func(q request) bool {
		if q.Method != "tools/list" {
			return false
		}
		asked.pages++
		say(q.ID, fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, asked.pages, asked.pages))
		return true
	},
	"bad tools": func(q request) bool {
		if q.Method != "tools/list" {
			return false
		}
		say(q.ID, `{"tools":[null,{"name":""},{"name":"a\u0007b"},{"name":"good","description":5},{"name":"big","description":"`+strings.Repeat("x", MaxDefinition)+`"},`+
			`{"name":"twice"},{"name":"twice"},{"name":"fine","inputSchema":{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"string"}}}}]}`)
		return true
	},
	"changes": func(q request) bool {
		switch q.Method {
		case "tools/list":
			asked.pages++
			say(q.ID, fmt.Sprintf(`{"tools":[{"name":"version%d","inputSchema":{"type":"object"}}]}`, asked.pages))
		case "tools/call":
			for range 100 {
				fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			say(q.ID, `{"content":[]}`)
		default:
			return false
		}
		return true
	},
	"answers": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		var p struct {
			Arguments struct {
				Result json.RawMessage `json:"result"`
			} `json:"arguments"`
		}
		if err := json.Unmarshal(q.Params, &p); err != nil {
			panic(err)
		}
		say(q.ID, string(p.Arguments.Result))
		return true
	},
	"large": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		var p struct {
			Arguments struct {
				Bytes int `json:"bytes"`
			} `json:"arguments"`
		}
		if err := json.Unmarshal(q.Params, &p); err != nil {
			panic(err)
		}
		say(q.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("x", p.Arguments.Bytes)+`"}]}`)
		return true
	},
	"refuses": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		refuse(q.ID, -32602, "missing the colour")
		return true
	},
	"counts": func(q request) bool {
		if q.Method != "tools/call" {
			return false
		}
		// Each call is held until there are as many as it says, or one that releases all.
		var p struct {
			Arguments struct {
				Hold int `json:"hold"`
			} `json:"arguments"`
		}
		if err := json.Unmarshal(q.Params, &p); err != nil {
			panic(err)
		}
		asked.held = append(asked.held, q.ID)
		if len(asked.held) == p.Arguments.Hold {
			mark("most", strconv.Itoa(len(asked.held)))
			for _, id := range asked.held {
				say(id, `{"content":[]}`)
			}
			asked.held = nil
		}
		return true
	},
}

// answered takes a response to a question, and answers the call in which it was asked
// with all of them.
func answered(line []byte) {
	asked.answers = append(asked.answers, string(line))
	if len(asked.answers) == 3 {
		text, err := json.Marshal(strings.Join(asked.answers, ""))
		if err != nil {
			panic(err)
		}
		say(asked.call, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
	}
}

// asked is what a raw server remembers; there is one in a process.
var asked struct {
	pages   int
	call    json.RawMessage
	held    []json.RawMessage
	answers []string
}
