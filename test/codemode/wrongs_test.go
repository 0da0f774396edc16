//go:build linux

package codemode

import (
	"fmt"
	"os"
	"strings"
)

// beginnings are what a server does instead of answering, or before.
var beginnings = map[string]func(*wire){
	"exits": func(*wire) {
		fmt.Fprintln(os.Stderr, "cannot read settings: no such file")
		os.Exit(3)
	},
	"hangs": func(*wire) { select {} },
	"babbles": func(w *wire) {
		for {
			w.print(strings.Repeat("hello, I am no server\n", 1000))
		}
	},
}

// wrongs are behaviours of servers that answer.
var wrongs = map[string]func(*wire, question) bool{
	"no initialize": func(_ *wire, q question) bool { return q.Method == "initialize" },
	"a hundred thousand tools": func(w *wire, q question) bool {
		if q.Method != "tools/list" {
			return false
		}
		all := make([]string, 100_000)
		for i := range all {
			all[i] = tool(fmt.Sprintf("tool_%06d", i), `{"type":"object"}`)
		}
		w.say(q.ID, `{"tools":[`+strings.Join(all, ",")+`]}`)
		return true
	},
	// Each byte is a write of its own.
	"slow bytes": func(w *wire, q question) bool {
		if q.Method != "tools/call" {
			return false
		}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`, q.ID, q.Params.Arguments)
		for i := range len(text) {
			w.print(text[i : i+1])
		}
		w.print("\n")
		return true
	},
	"leaks": leak,
	"answers twice": func(w *wire, q question) bool {
		if q.Method != "tools/call" {
			return false
		}
		w.say([]byte("99999"), `{"content":[{"type":"text","text":"forged"}]}`)
		w.say([]byte(`"`+string(q.ID)+`"`), `{"content":[{"type":"text","text":"of another type"}]}`)
		w.say(q.ID, `{"content":[],"structuredContent":{"first":true}}`)
		w.say(q.ID, `{"content":[],"structuredContent":{"first":false}}`)
		return true
	},
}

// noises are what servers print before each answer that is no answer.
var noises = map[string]func(*wire){
	"lines":              func(w *wire) { w.print("loading…\nready!\n") },
	"blank lines":        func(w *wire) { w.print("\n\r\n   \n\t\n") },
	"a byte order mark":  func(w *wire) { w.print("\ufeff") },
	"carriage returns":   func(w *wire) { w.print("50%\r100%\r\n") },
	"terminal sequences": func(w *wire) { w.print("\x1b[2J\x1b[31mred\x1b[0m\x1b]0;title\x07\n") },
	"control characters": func(w *wire) { w.print("\x00\x01\x02\x7f\n") },
	"no UTF-8":           func(w *wire) { w.print("\xff\xfe\xed\xa0\x80\n") },
	"half an object":     func(w *wire) { w.print(`{"jsonrpc":"2.0","id":1,"resu` + "\n") },
	"JSON that is none of ours": func(w *wire) {
		w.print("null\ntrue\n5\n\"text\"\n[]\n{}\n[1,2]\n[[]]\n" + `{"level":"info","msg":"started","id":1}` + "\n")
	},
	"another version":      func(w *wire) { w.print(`{"jsonrpc":"1.0","id":1,"result":{}}` + "\n") },
	"answers to nothing":   func(w *wire) { w.print(`{"jsonrpc":"2.0","id":98765,"result":{"content":[]}}` + "\n") },
	"an answer with no id": func(w *wire) { w.print(`{"jsonrpc":"2.0","id":null,"result":{"content":[]}}` + "\n") },
	"an error to nobody": func(w *wire) {
		w.print(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}` + "\n")
	},
	"unknown notifications": func(w *wire) { w.print(`{"jsonrpc":"2.0","method":"notifications/no/such","params":{"x":[1]}}` + "\n") },
	"unknown requests":      func(w *wire) { w.print(`{"jsonrpc":"2.0","id":"q","method":"no/such"}` + "\n") },
	"log messages": func(w *wire) {
		w.print(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"deep":[{}]}}}` + "\n")
	},
	"progress of nothing": func(w *wire) {
		w.print(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1}}` + "\n")
	},
	"params of a wrong kind": func(w *wire) { w.print(`{"jsonrpc":"2.0","method":"notifications/message","params":[1,2]}` + "\n") },
	"list changes without end": func(w *wire) {
		w.print(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`+"\n", 500))
	},
	"a long line":    func(w *wire) { w.print(strings.Repeat("x", 4<<20) + "\n") },
	"many lines":     func(w *wire) { w.print(strings.Repeat("y\n", 20_000)) },
	"standard error": func(*wire) { fmt.Fprint(os.Stderr, strings.Repeat("it says much\n", 50_000)) },
}
