package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// isInterpreter lists the programs that run code of their own language.
func isInterpreter(base string) bool {
	for _, family := range []string{"python", "pypy", "perl", "ruby", "node", "php", "lua", "tclsh"} {
		if rest, ok := strings.CutPrefix(base, family); ok && strings.Trim(rest, "0123456789.") == "" {
			return true
		}
	}
	switch base {
	case "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "nodejs", "deno", "bun", "Rscript", "julia", "expect",
		"osascript", "pwsh", "gdb", "vim", "vi", "ex", "ed", "nvim", "emacs", "sqlite3", "at", "batch", "crontab", "m4", "make":
		return true
	}
	return false
}

// isShell lists the interpreters whose code is analysed here.
func isShell(base string) bool {
	switch base {
	case "bash", "sh", "dash", "ksh", "mksh", "ash", "zsh", "rbash":
		return true
	}
	return false
}

// interpreter reports code that an interpreter is given: nested analysis for the
// constants of a shell, unsafe(dynamic_code) for the rest.
func (s *script) interpreter(c command, base string, arguments []arg) {
	shell := isShell(base)
	for i, a := range arguments {
		switch {
		case !a.known:
			s.unsafe(dynamicCode, base, c.at) // it may be an option, or any file
			return
		case shell && takesCode(a.text):
			s.codeArgument(c, base, arguments[i+1:])
			return
		case !shell && (a.text == "-c" || a.text == "-e" || a.text == "-r" || a.text == "--eval" || a.text == "-E"):
			s.unsafe(dynamicCode, base+" "+a.text, a.at)
			return
		case shell && (a.text == "-o" || a.text == "+o" || a.text == "-O" || a.text == "--rcfile" || a.text == "--init-file"):
			if i+1 < len(arguments) && strings.HasSuffix(a.text, "file") {
				s.unsafe(dynamicCode, base+" "+a.text, a.at)
			}
		case a.text == "--version" || a.text == "--help" || a.text == "-V":
			return
		case shell && len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-' && strings.Contains(a.text, "s"):
			s.standardInput(c, base)
			return
		case strings.HasPrefix(a.text, "-") && a.text != "-" && a.text != "-m":
		case a.text == "-m" || (!shell && a.text != "-" && !strings.HasPrefix(a.text, "/dev/")):
			return // a module, or a file of another language: run(…) says it
		case a.text == "-":
			s.standardInput(c, base)
			return
		case shell && i > 0 && strings.HasSuffix(strings.ToLower(arguments[i-1].text), "o"):
			// The value of -o or -O.
		default:
			s.unsafe(dynamicCode, base+" "+a.text, a.at) // code in a file
			return
		}
	}
	s.standardInput(c, base)
}

// takesCode: -c, alone or among other short options.
func takesCode(option string) bool {
	return len(option) > 1 && option[0] == '-' && option[1] != '-' && strings.Contains(option, "c")
}

// codeArgument analyses the code behind -c, which further options may precede.
func (s *script) codeArgument(c command, base string, rest []arg) {
	for len(rest) > 0 && rest[0].known && len(rest[0].text) > 1 && rest[0].text[0] == '-' {
		rest = rest[1:]
	}
	if len(rest) == 0 || !rest[0].known || c.more && strings.Contains(rest[0].text, "{}") {
		s.unsafe(dynamicCode, base+" -c", c.at)
		return
	}
	s.code(rest[0].text, base+" -c", rest[0].at, false)
	if runsArguments(rest[0].text) {
		s.handed(c, base, rest[1:])
	}
}

// runsArguments reports whether code runs what it is handed: "$@", $0, $1.
func runsArguments(code string) bool {
	return strings.Contains(code, "$@") || strings.Contains(code, "$*") || strings.Contains(code, "$0")
}

// handed follows the arguments of code that may run them.
func (s *script) handed(c command, base string, rest []arg) {
	for i := range min(len(rest), 2) {
		if a := rest[i]; a.known && isPlain(a.text) && !isShell(a.text) && a.text != "_" {
			s.command(command{args: rest[i:], via: base + " -c", at: c.at, more: c.more, depth: c.depth})
		}
	}
}

// standardInput analyses a constant here-document that is fed to a shell.
func (s *script) standardInput(c command, base string) {
	for i := len(c.redirections) - 1; i >= 0 && isShell(base); i-- {
		r := c.redirections[i]
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		var text string
		var known bool
		switch r.Op {
		case syntax.WordHdoc:
			text, known = s.text(r.Word)
		case syntax.Hdoc, syntax.DashHdoc:
			text, known = s.body(r.Word, r.Hdoc)
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
		default:
			continue
		}
		if known { // the last redirection of the input is the one that counts
			s.code(text, base+" <<", c.at, false)
			return
		}
		break
	}
	s.unsafe(dynamicCode, base, c.at)
}
