package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// computed is the target of what is only known while the program runs.
const computed = "*"

// command is a command that will be run: by the shell itself, or by a program
// that was given it.
type command struct {
	args         []arg
	redirections []*syntax.Redirect
	via          string
	at           uint
	// shell is set when the shell looks the name up: builtins and functions count.
	shell bool
	// plain is set when functions do not (command, builtin).
	plain bool
	// more is set when further arguments come from elsewhere (xargs).
	more  bool
	depth int
}

// maxWrapped bounds wrappers in wrappers.
const maxWrapped = 16

// command reports what a command does.
func (s *script) command(c command) {
	if !s.step() || len(c.args) == 0 {
		return
	}
	if c.depth++; c.depth > maxWrapped {
		s.report.unanalysable("wrappers")
		return
	}
	first := c.args[0]
	if !first.known {
		s.add(policy.Run, computed, c.via, first.at)
		return
	}
	name, arguments := first.text, c.args[1:]
	if c.shell && !c.plain && s.function(c, name, arguments) {
		return
	}
	if c.shell && isBuiltin(name) {
		s.builtin(c, name, arguments)
		return
	}
	base := path.Base(name)
	if isBash(name) {
		s.files(base, arguments)
		s.interpreter(c, base, arguments)
		return
	}
	s.add(policy.Run, program(name), c.via, first.at)
	s.program(c, base, arguments)
}

// isBash reports whether a name is the shell that runs the script itself, not a
// program of the same name elsewhere.
func isBash(name string) bool {
	return name == "bash" || name == "/bin/bash" || name == "/usr/bin/bash"
}

// program is the target of a run: what could not be the name of a program that
// anyone would grant is any program.
func program(name string) string {
	if isPlain(name) {
		return name
	}
	return computed
}

func isPlain(name string) bool {
	if name == "" || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._+-[/", rune(c)) {
			return false
		}
	}
	return true
}

// function follows a call of a function of the source. One that may not be in
// force is taken for a program of the same name.
func (s *script) function(c command, name string, arguments []arg) bool {
	f, known := s.scope.function(name, c.at)
	if !known || f == nil {
		return false
	}
	for _, r := range f.runs {
		switch {
		case f.rewrites:
		case !s.scope.follows(name, r):
		case slices.ContainsFunc(arguments[:min(r.argument, len(arguments))], arg.many):
			s.add(policy.Run, computed, name, c.at)
		case r.argument < len(arguments):
			s.command(command{args: arguments[r.argument:], via: name, at: c.at, shell: true, depth: c.depth})
		}
	}
	return true
}

// program reports what a program does by its arguments.
func (s *script) program(c command, base string, arguments []arg) {
	if w, ok := wrapperOf(base); ok {
		s.wrapped(c, base, w, arguments)
		return
	}
	s.files(base, arguments)
	s.network(base, arguments)
	s.installs(base, arguments)
	s.options(base, arguments)
	switch {
	case base == "find":
		s.find(c, arguments)
	case base == "awk" || base == "gawk" || base == "mawk" || base == "nawk":
		s.awk(arguments)
	case base == "sed" || base == "gsed":
		s.sed(arguments)
	case base == "dc":
		s.dc(c, arguments)
	case isInterpreter(base):
		s.interpreter(c, base, arguments)
	}
}

// wrapped follows a program that runs the command in its arguments.
func (s *script) wrapped(c command, base string, w wrapper, arguments []arg) {
	i := w.skip(s, arguments)
	w.codeOptions(s, base, arguments)
	if i >= len(arguments) {
		if c.more || w.reads {
			s.add(policy.Run, computed, base, c.at)
		}
		return
	}
	s.command(command{
		args: arguments[i:], redirections: c.redirections, via: base, at: c.at,
		more: c.more || base == "xargs" || base == "parallel", depth: c.depth,
	})
}

// find follows -exec and reports what it deletes and writes.
func (s *script) find(c command, arguments []arg) {
	for i, a := range arguments {
		switch a.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			s.command(command{args: untilEnd(arguments[i+1:]), via: "find " + a.text, at: a.at, more: true, depth: c.depth})
		case "-delete":
			for _, start := range arguments {
				if strings.HasPrefix(start.text, "-") {
					break
				}
				s.path(policy.Write, start, "find -delete")
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(arguments) {
				s.path(policy.Write, arguments[i+1], "find "+a.text)
			}
		}
	}
}

// untilEnd is the command of -exec, up to its ; or +.
func untilEnd(arguments []arg) []arg {
	for i, a := range arguments {
		if a.known && (a.text == ";" || a.text == "+") {
			return arguments[:i]
		}
	}
	return arguments
}
