package serverfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gearbox-mcp/gearbox/internal/policy"
	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// maxName bounds the name of a server, which stands in rules and in every list.
const maxName = 128

// serverReader reads one server of a file.
type serverReader struct {
	file    *fileReader
	dialect dialect
	entry   *Entry
	args    []string // which come after the command
	// said is by which key something was said, so that it is not said twice.
	said map[string]field
	// elsewhere is the program that alone can run the server; empty for none.
	elsewhere string
}

// key is one thing that may be said of a server, and what programs call it.
type key struct {
	names []string // ours first
	read  func(field)
}

// keys are all that is understood.
func (r *serverReader) keys() []key {
	s := &r.entry.Spec
	return []key{
		{[]string{"type", "transport"}, r.transport},
		{[]string{"command", "cmd"}, r.command},
		{[]string{"args"}, func(f field) { r.args = append(r.args, r.values(f)...) }},
		{[]string{"env", "envs", "environment"}, func(f field) { r.pairs(f, &s.Env) }},
		{[]string{"env_file", "envFile"}, func(f field) { r.entry.EnvFile = r.path(f) }},
		{[]string{"env_vars"}, func(f field) { r.entry.EnvVars = r.variables(f) }},
		{[]string{"env_keys"}, r.envKeys},
		{[]string{"cwd"}, func(f field) { s.Dir = r.path(f) }},
		{[]string{"sandbox"}, r.sandbox},
		{[]string{"url", "httpUrl", "serverUrl", "uri"}, r.url},
		{[]string{"headers", "http_headers"}, func(f field) { r.pairs(f, &s.Headers) }},
		{[]string{"env_http_headers"}, r.headerVariables},
		{[]string{"bearer_token_env_var"}, r.bearerVariable},
		{[]string{"oauth", "auth"}, r.oauth},
		{[]string{"description"}, func(f field) { s.Description = r.text(f) }},
		{[]string{"alias"}, r.alias},
		{[]string{"disabled"}, func(f field) { s.Disabled = r.truth(f) || s.Disabled }},
		{[]string{"enabled"}, func(f field) { s.Disabled = !r.truth(f) || s.Disabled }},
		{[]string{"lazy"}, func(f field) { s.Lazy = r.truth(f) }},
		{[]string{"trust_hints"}, func(f field) { s.TrustHints = r.truth(f) }},
		{[]string{"max_concurrency"}, r.concurrency},
		{[]string{"timeout", "timeout_ms", "timeout_sec", "tool_timeout", "tool_timeout_sec"}, r.timeout},
		{[]string{"startup_timeout", "startup_timeout_ms", "startup_timeout_sec"}, func(f field) { s.StartupTimeout = r.lasting(f) }},
		{[]string{"tools"}, r.tools},
		{[]string{"includeTools", "enabled_tools", "allowed_tools", "available_tools"}, r.onlyTools},
		{[]string{"excludeTools", "exclude_tools", "excluded_tools", "disabled_tools", "disabledTools"}, func(f field) { s.Deny = append(s.Deny, r.texts(f)...) }},
	}
}

// loosening are keys of other programs that let tools run without a question.
func loosening() []string {
	return []string{"alwaysAllow", "always_allow", "autoApprove", "auto_approve", "trust", "default_tools_approval_mode"}
}

// idle are keys that say nothing that counts here.
func idle() []string {
	return []string{"name", "title", "display_name", "displayName", "icon", "source", "gallery", "version", "bundled", "id", "required"}
}

// read reads the server.
func (r *serverReader) read(f field) {
	r.name(f)
	if f.value.shape != object {
		r.fault(f, "it is %s and not an object of keys", f.value.shape)
		return
	}
	if len(f.value.fields) > maxKeys {
		r.fault(f, "it has %d keys: at most %d can be", len(f.value.fields), maxKeys)
		return
	}
	keys := r.keys()
	var known []string
	for _, k := range keys {
		known = append(known, k.names...)
	}
	for _, f := range f.value.fields {
		i := slices.IndexFunc(keys, func(k key) bool { return slices.Contains(k.names, f.key) })
		switch {
		case i >= 0:
			r.once(keys[i], f)
		case slices.Contains(loosening(), f.key):
			if f.value.text != "false" && !(f.value.shape == list && len(f.value.items) == 0) {
				r.warn(f.line, "%s is not followed: whether a call asks is decided by the gear and by tools: {approve: […]}", f.key)
			}
		case f.key == "settings":
			r.elsewhere = "an extension of Zed"
		case !slices.Contains(idle(), f.key):
			r.unknown(f, known)
		}
	}
	r.finish(f)
}

// once reads a key unless the same was said before.
func (r *serverReader) once(k key, f field) {
	if f.value.shape == nothing {
		return // as if it were not there
	}
	before, again := r.said[k.names[0]]
	if again {
		r.fault(f, "%s is said again on line %d as %s: keep one", f.key, before.line, before.key)
		return
	}
	r.said[k.names[0]] = f
	k.read(f)
}

func (r *serverReader) unknown(f field, known []string) {
	hint := ""
	if near := policy.Nearest(f.key, known); near != "" {
		hint = ": did you mean " + near + "?"
	}
	r.warn(f.line, "the key %q is unknown and does nothing%s", f.key, hint)
}

// fault notes what is wrong at a key.
func (r *serverReader) fault(f field, format string, args ...any) {
	r.entry.fault(place(r.entry.File, f.line) + ": " + fmt.Sprintf(format, args...))
}

func (r *serverReader) warn(line int, format string, args ...any) {
	r.file.warn(Warning{File: r.entry.File, Line: line, Server: r.entry.Spec.Name, Message: fmt.Sprintf(format, args...)})
}

func (r *serverReader) name(f field) {
	switch {
	case f.key == "":
		r.fault(f, "the name is empty: give it one")
	case len(f.key) > maxName:
		r.fault(f, "the name is longer than %d bytes: shorten it", maxName)
	case strings.ContainsFunc(f.key, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.fault(f, "the name %q holds characters that cannot be shown: give it another", f.key)
	}
}

// finish finds what is wrong with all keys together, and how the server is reached.
func (r *serverReader) finish(f field) {
	s := &r.entry.Spec
	if len(s.Command) > 0 {
		s.Command = append(s.Command, r.args...)
	}
	_, command := r.said["command"]
	_, url := r.said["url"]
	switch {
	case command && url:
		r.fault(f, "it has a command and a url: keep one")
	case r.elsewhere != "" && !command && !url:
		r.entry.Elsewhere = true
		r.fault(f, "it runs inside %s, which alone can start it: take it out, or write the command of a server that does the same", r.elsewhere)
	case !command && !url:
		r.fault(f, "it has neither command nor url: say how it is started or where it is")
	case command:
		r.finishStdio(f)
	default:
		r.finishRemote(f)
	}
	if restarts(s.Command, r.file.options.Self) {
		r.entry.Self = true
		r.fault(f, "it would start Gearbox from Gearbox: take it out of this file")
	}
}

func (r *serverReader) finishStdio(f field) {
	s := &r.entry.Spec
	if s.Transport != "" && s.Transport != upstream.Stdio {
		r.fault(f, "it has a command, but is of type %s: keep one", s.Transport)
	}
	s.Transport = upstream.Stdio
	if len(s.Headers) > 0 || s.OAuth != nil {
		r.warn(f.line, "headers and oauth do nothing for a server that is started by a command")
	}
	if len(s.Command) == 1 && strings.Contains(strings.TrimSpace(s.Command[0]), " ") && !strings.ContainsAny(s.Command[0], `/\`) {
		r.warn(f.line, "command is the name of one program, which no shell splits: put its arguments into args")
	}
}

func (r *serverReader) finishRemote(f field) {
	s := &r.entry.Spec
	switch s.Transport {
	case upstream.Stdio:
		r.fault(f, "it is of type stdio, but has a url: keep one")
	case "":
		s.Transport = upstream.Auto
		if r.said["url"].key == "httpUrl" {
			s.Transport = upstream.HTTP
		}
	case upstream.HTTP, upstream.SSE, upstream.Auto:
	}
	if s.Sandbox != nil {
		r.fault(r.said["sandbox"], "it is to run in a sandbox, but is reached at a url and started elsewhere: take sandbox out")
	}
	if len(r.args) > 0 || len(s.Env) > 0 || r.entry.EnvFile != "" {
		r.warn(f.line, "args, env and env_file do nothing for a server that is reached at a url")
	}
}

// restarts reports whether a command starts this program again: by its path or name, or as
// gearbox serve wherever that stands, such as behind env or in a line for a shell.
func restarts(command []string, self string) bool {
	if len(command) == 0 {
		return false
	}
	if self != "" && filepath.Clean(command[0]) == filepath.Clean(self) || isGearbox(command[0]) {
		return true
	}
	words := strings.Fields(strings.Join(command, " "))
	for i, w := range words[:max(0, len(words)-1)] {
		if isGearbox(w) && words[i+1] == "serve" {
			return true
		}
	}
	return false
}

func isGearbox(program string) bool {
	base := program[strings.LastIndexAny(program, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(base), ".exe") == "gearbox"
}
