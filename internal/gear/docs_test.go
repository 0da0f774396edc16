package gear_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

type documentedGear struct {
	gear.Gear
	Text string
}

type tableRow struct {
	Permission string
	Effects    []string
}

type limitRow struct{ Name, Value, What string }

type wordRow struct{ Word, Permissions, Restricted, Confirmed string }

func TestDocumentationOfGearsIsUpToDate(t *testing.T) {
	page, err := template.ParseFiles("testdata/gears.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("testdata/good/team.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = page.Execute(&out, map[string]any{
		"Default": gear.Default, "Gears": documentedGears(t), "Table": effectsTable(t),
		"Example": string(example), "Limits": limitRows(), "Words": wordRows(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/gears.md", out.String())
}

func documentedGears(t *testing.T) []documentedGear {
	t.Helper()
	var out []documentedGear
	for _, g := range gear.Builtin() {
		text, err := os.ReadFile("builtin/" + g.Name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, documentedGear{g, string(text)})
	}
	return out
}

func effectsTable(t *testing.T) []tableRow {
	t.Helper()
	var out []tableRow
	for _, p := range []policy.Permission{
		{Kind: policy.Import, Target: "json"},
		{Kind: policy.Import, Target: "subprocess"},
		{Kind: policy.Unsafe, Target: "eval"},
		{Kind: policy.Run, Target: "grep"},
		{Kind: policy.Run, Target: "git"},
		{Kind: policy.Net, Target: "api.github.com:443"},
		{Kind: policy.Net, Target: "169.254.169.254:80"},
		{Kind: policy.Read, Target: "/etc/passwd"},
		{Kind: policy.Write, Target: "/workspace/out.csv"},
		{Kind: policy.Env, Target: "TOKEN"},
		{Kind: policy.Install, Target: "pandas"},
		{Kind: policy.Tool, Target: "github.create_issue"},
	} {
		row := tableRow{Permission: p.String()}
		for _, g := range gear.Builtin() {
			f := freeze(t, g, nil, nil, gear.Overlays{})
			e := string(f.Decide(p).Effect)
			if !f.Enabled() {
				e = "–"
			}
			row.Effects = append(row.Effects, e)
		}
		out = append(out, row)
	}
	return out
}

func limitRows() []limitRow {
	l := execution.DefaultLimits()
	return []limitRow{
		{"timeout_seconds", strconv.Itoa(int(l.Timeout.Seconds())), "wall time from the first instruction of the program, when the call names none"},
		{"max_timeout_seconds", strconv.Itoa(int(l.MaxTimeout.Seconds())), "the most that a call may ask for; `restricted` has 60"},
		{"memory", l.Memory.String(), ""},
		{"processes", strconv.Itoa(l.Processes), "processes and threads together"},
		{"open_files", strconv.Itoa(l.OpenFiles), ""},
		{"scratch", l.Scratch.String(), "`/tmp`, `/workspace` and `/dev/shm` together"},
		{"scratch_files", strconv.Itoa(l.ScratchFiles), "files and directories in them"},
		{"output_kept", l.OutputKept.String(), "what is stored of each stream, head and tail"},
		{"output_produced", l.OutputProduced.String(), "the run ends when both streams together exceed it"},
		{"tool_calls", strconv.Itoa(l.ToolCalls), "calls of the tools of other servers; one more fails"},
	}
}

// wordRows are the words that the sources of the requirements ban, and what they
// become here.
func wordRows(t *testing.T) []wordRow {
	t.Helper()
	restricted := freeze(t, builtin(t, "restricted"), nil, nil, gear.Overlays{})
	confirmed := freeze(t, builtin(t, "user_confirmed"), nil, nil, gear.Overlays{})
	var out []wordRow
	for _, w := range []struct {
		word        string
		permissions []policy.Permission
	}{
		{"import os", []policy.Permission{{Kind: policy.Import, Target: "os"}}},
		{"import sys", []policy.Permission{{Kind: policy.Import, Target: "sys"}}},
		{"import subprocess", []policy.Permission{{Kind: policy.Import, Target: "subprocess"}}},
		{"import socket", []policy.Permission{{Kind: policy.Import, Target: "socket"}}},
		{"import requests", []policy.Permission{{Kind: policy.Import, Target: "requests"}}},
		{"import shutil", []policy.Permission{{Kind: policy.Import, Target: "shutil"}}},
		{`open("notes.txt")`, []policy.Permission{{Kind: policy.Read, Target: "/workspace/notes.txt"}}},
		{`open("/etc/hosts")`, []policy.Permission{{Kind: policy.Read, Target: "/etc/hosts"}}},
		{"eval(", []policy.Permission{{Kind: policy.Unsafe, Target: "eval"}}},
		{"exec(", []policy.Permission{{Kind: policy.Unsafe, Target: "exec"}}},
		{`__import__("json")`, []policy.Permission{{Kind: policy.Import, Target: "json"}}},
		{`os.system("git push")`, []policy.Permission{{Kind: policy.Import, Target: "os"}, {Kind: policy.Run, Target: "git"}}},
		{"rm -rf build", []policy.Permission{{Kind: policy.Run, Target: "rm"}}},
	} {
		row := wordRow{Word: w.word}
		var names, r, c []string
		for _, p := range w.permissions {
			names = append(names, "`"+p.String()+"`")
			r = append(r, string(restricted.Decide(p).Effect))
			c = append(c, string(confirmed.Decide(p).Effect))
		}
		row.Permissions, row.Restricted, row.Confirmed = strings.Join(names, ", "), strings.Join(r, ", "), strings.Join(c, ", ")
		out = append(out, row)
	}
	return out
}
