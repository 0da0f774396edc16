package shell

import (
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// isBuiltin lists what bash 5 does itself (bash(1), SHELL BUILTIN COMMANDS).
func isBuiltin(name string) bool {
	switch name {
	case ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete", "compopt",
		"continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg",
		"getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd",
		"pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "times",
		"trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait":
		return true
	}
	return false
}

// builtin reports the builtins that run commands or code, or change what names mean.
func (s *script) builtin(c command, name string, arguments []arg) {
	switch name {
	case "command", "exec", "builtin":
		s.running(c, name, arguments)
	case "eval":
		s.joinedCode(name, c.at, arguments, true)
	case "source", ".":
		s.unsafe(dynamicCode, name, c.at)
		s.file(policy.Read, arguments, name)
	case "trap":
		if arguments = operands(arguments); len(arguments) > 1 {
			s.trapped(c, arguments[0])
		}
	case "mapfile", "readarray":
		s.optionCode("-C", name, arguments)
	case "compgen", "complete":
		s.optionCode("-C", name, arguments)
	case "alias":
		s.alias(arguments)
	case "enable", "hash":
		s.rebound(name, c.at, arguments)
	case "cd", "pushd":
		s.file(policy.Read, operands(arguments), name)
	case "unset":
		s.unset(arguments)
		s.evaluating(name, arguments)
	case "printf", "read", "declare", "typeset", "local", "export", "let", "test", "[":
		s.evaluating(name, arguments)
	case "jobs":
		s.after("-x", name, c, arguments)
	}
}

// running follows command, exec and builtin.
func (s *script) running(c command, name string, arguments []arg) {
	i := 0
	for i < len(arguments) && arguments[i].known && strings.HasPrefix(arguments[i].text, "-") {
		option := arguments[i].text
		i++
		switch {
		case option == "--":
		case name == "command" && strings.ContainsAny(option, "vV"):
			return // it only says what a name means
		case name == "exec" && strings.HasSuffix(option, "a"):
			i++
			continue
		default:
			continue
		}
		break
	}
	if i >= len(arguments) {
		return
	}
	s.command(command{
		args: arguments[i:], redirections: c.redirections, via: name, at: c.at,
		shell: name != "exec", plain: true, more: c.more, depth: c.depth,
	})
}

// joinedCode analyses words that the shell joins and reads as code.
func (s *script) joinedCode(via string, at uint, words []arg, share bool) {
	texts := make([]string, len(words))
	for i, w := range words {
		if !w.known {
			s.unsafe(dynamicCode, via, at)
			return
		}
		texts[i] = w.text
	}
	s.code(strings.Join(texts, " "), via, at, share)
}

// trapped analyses the code of a trap, which sees what is defined until it runs.
func (s *script) trapped(c command, code arg) {
	if !code.known {
		s.unsafe(dynamicCode, "trap", c.at)
		return
	}
	s.codeIn(code.text, "trap", c.at, surroundings{shares: true, later: true})
}

// optionCode analyses the code that follows an option.
func (s *script) optionCode(option, via string, arguments []arg) {
	for i, a := range arguments {
		if a.text == option && i+1 < len(arguments) {
			s.joinedCode(via, a.at, arguments[i+1:i+2], false)
		}
	}
}

// after follows the command behind an option.
func (s *script) after(option, via string, c command, arguments []arg) {
	for i, a := range arguments {
		if a.text == option {
			s.command(command{args: arguments[i+1:], via: via, at: a.at, depth: c.depth})
			return
		}
	}
}

// alias looks at what the name will stand for, whether or not it is ever used.
func (s *script) alias(arguments []arg) {
	for _, a := range arguments {
		_, value, assigns := strings.Cut(a.text, "=")
		switch {
		case !a.known:
			s.unsafe(dynamicCode, "alias", a.at)
		case assigns:
			s.code(value, "alias", a.at, true)
		}
	}
}

// rebound: enable -f loads a builtin from a library, enable -n takes one away,
// hash -p makes a name mean another program.
func (s *script) rebound(name string, at uint, arguments []arg) {
	for i, a := range arguments {
		switch {
		case name == "enable" && strings.HasPrefix(a.text, "-f"):
			s.unsafe("native", "enable -f", at)
		case name == "enable" && a.text == "-n", !a.known:
			s.unsafe(environment, name, at)
		case name == "hash" && strings.HasPrefix(a.text, "-p"):
			s.unsafe(environment, "hash -p", at)
			if i+1 < len(arguments) && arguments[i+1].known {
				s.add(policy.Run, program(arguments[i+1].text), "hash -p", at)
			}
		}
	}
}

// unset in code that shares the names around it takes functions away there.
func (s *script) unset(arguments []arg) {
	for sc := s.scope; sc.outer != nil && sc.shares; sc = sc.outer {
		for _, a := range arguments {
			if f := sc.outer.functions[a.text]; f != nil {
				f.many = true
			}
		}
	}
}

// evaluating: a subscript is evaluated wherever a builtin takes a name or a
// number, and runs the substitutions in it.
func (s *script) evaluating(via string, arguments []arg) {
	if via == "printf" {
		if len(arguments) < 2 || arguments[0].text != "-v" {
			return
		}
		arguments = arguments[1:2]
	}
	for _, a := range arguments {
		if a.known && subscripted(a.text) {
			s.unsafe(dynamicCode, via, a.at)
			return
		}
	}
}

// operands are the arguments behind the options.
func operands(arguments []arg) []arg {
	for i, a := range arguments {
		switch {
		case a.known && a.text == "--":
			return arguments[i+1:]
		case !a.known || !strings.HasPrefix(a.text, "-") || a.text == "-":
			return arguments[i:]
		}
	}
	return nil
}
