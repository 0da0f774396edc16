package shell

import (
	"strings"
)

// wrapper is how a program that runs its arguments reads what stands before them.
type wrapper struct {
	// letters are the short options with a value; long the long ones whose value
	// may be an argument of its own.
	letters string
	long    string
	// operands stand before the command: the seconds of timeout, the file of flock.
	operands int
	// assigns is set when NAME=value may stand before the command.
	assigns bool
	// code are options whose value a shell reads; split is the option of env whose
	// value is split into a command.
	code  string
	split string
	// reads is set when the command comes from standard input if none is given.
	reads bool
}

// wrapperOf knows the programs that run the command in their arguments.
func wrapperOf(base string) (wrapper, bool) {
	switch base {
	case "env":
		return wrapper{letters: "uCS", long: "--unset --chdir --split-string", assigns: true, split: "-S --split-string"}, true
	case "sudo":
		return wrapper{letters: "ughpCTUDRrt", long: "--user --group --host --prompt --chdir --chroot --role --type --close-from --other-user --command-timeout", assigns: true}, true
	case "doas":
		return wrapper{letters: "uC"}, true
	case "xargs":
		return wrapper{letters: "aEIdLnPs", long: "--arg-file --delimiter --max-lines --max-args --max-procs --max-chars --replace --process-slot-var"}, true
	case "parallel":
		return wrapper{letters: "jNnIaSLsC", long: "--jobs --max-args --arg-file --sshlogin --colsep --tmpdir --results --joblog", reads: true}, true
	case "timeout":
		return wrapper{letters: "ks", long: "--kill-after --signal", operands: 1}, true
	case "nice":
		return wrapper{letters: "n", long: "--adjustment"}, true
	case "ionice":
		return wrapper{letters: "cnpPu", long: "--class --classdata --pid"}, true
	case "nohup", "setsid", "unbuffer", "fakeroot", "dbus-run-session", "faketty", "catchsegv", "eatmydata", "rlwrap", "winpty":
		return wrapper{}, true
	case "stdbuf":
		return wrapper{letters: "ioe", long: "--input --output --error"}, true
	case "time":
		return wrapper{letters: "fo", long: "--format --output"}, true
	}
	return rareWrapper(base)
}

// rareWrapper knows those that are seldom met in scripts.
func rareWrapper(base string) (wrapper, bool) {
	switch base {
	case "chrt":
		return wrapper{letters: "TPDp", operands: 1}, true
	case "taskset", "cpulimit":
		return wrapper{operands: 1}, true
	case "strace", "ltrace":
		return wrapper{letters: "eopPsuaESXbIOU", long: "--trace --output"}, true
	case "watch":
		return wrapper{letters: "nq", long: "--interval", code: "watch"}, true
	case "flock":
		return wrapper{letters: "wEc", long: "--timeout --conflict-exit-code --command", operands: 1, code: "-c --command"}, true
	case "script":
		return wrapper{letters: "cEIOBTmo", long: "--command", operands: 1, code: "-c --command"}, true
	case "su", "runuser":
		return wrapper{letters: "cgGsuw", long: "--command --group --shell", operands: 1, code: "-c --command"}, true
	case "unshare", "nsenter", "setarch", "linux32", "linux64", "setpriv", "capsh", "prlimit", "choom", "systemd-run", "firejail", "bwrap", "numactl", "xvfb-run":
		return wrapper{}, true
	case "chroot":
		return wrapper{operands: 1}, true
	case "busybox", "toybox":
		return wrapper{}, true
	}
	// The dynamic loader runs the program that is its argument.
	return wrapper{long: "--library-path --preload --argv0 --audit --inhibit-rpath"}, strings.HasPrefix(base, "ld-linux") || strings.HasPrefix(base, "ld.so") || strings.HasPrefix(base, "ld-musl")
}

// skip is the place of the command in the arguments.
func (w wrapper) skip(s *script, arguments []arg) int {
	operands := w.operands
	for i := 0; i < len(arguments); i++ {
		a := arguments[i]
		switch {
		case a.many(): // it may hold the command too
			return i
		case !a.known && w.assigns && strings.Contains(a.text, "="):
			s.prefixAssignment(a)
		case !a.known && operands == 0:
			return i
		case !a.known:
			operands--
		case a.text == "--":
			return min(i+1+operands, len(arguments))
		case a.text == "-" && w.split != "": // env -: an empty environment
		case len(a.text) > 1 && a.text[0] == '-':
			if w.takesNext(a.text) {
				if i++; i < len(arguments) && arguments[i].many() {
					return i
				}
			}
		case w.assigns && strings.Contains(a.text, "="):
			s.prefixAssignment(a)
		case operands > 0:
			operands--
		default:
			return i
		}
	}
	return len(arguments)
}

// takesNext reports whether the value of an option is the argument after it.
func (w wrapper) takesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		if strings.Contains(option, "=") {
			return false
		}
		for _, long := range strings.Fields(w.long) {
			if strings.HasPrefix(long, option) { // GNU programs take any unambiguous beginning
				return true
			}
		}
		return false
	}
	for i := 1; i < len(option); i++ {
		if strings.IndexByte(w.letters, option[i]) >= 0 {
			return i == len(option)-1
		}
	}
	return false
}

// prefixAssignment reports NAME=value before a wrapped command.
func (s *script) prefixAssignment(a arg) {
	name, value, _ := strings.Cut(a.text, "=")
	if changesCommands(name) {
		s.unsafe(environment, name, a.at)
	}
	if namesCommand(name) && a.known {
		s.code(value, name, a.at, false)
	}
}

// codeOptions reports the values of options that are commands in one text.
func (w wrapper) codeOptions(s *script, base string, arguments []arg) {
	if w.code == "watch" { // it joins its arguments for a shell
		if i := w.skip(s, arguments); i < len(arguments) {
			s.joinedCode(base, arguments[i].at, arguments[i:], false)
		}
		return
	}
	for _, option := range strings.Fields(w.code + " " + w.split) {
		for i, a := range arguments {
			if value, ok := optionValue(option, arguments, i); ok {
				s.joinedCode(base+" "+option, a.at, []arg{value}, false)
			}
		}
	}
}

// optionValue is the value of the option when it stands at i: in the same
// argument, or in the next. Short options may stand behind others (-iS).
func optionValue(option string, arguments []arg, i int) (arg, bool) {
	a := arguments[i]
	if name, _, _ := strings.Cut(a.text, "="); len(name) > 4 && strings.HasPrefix(option, name) && strings.HasPrefix(name, "--") {
		a.text = option + a.text[len(name):] // GNU programs take any unambiguous beginning
	}
	rest, found := strings.CutPrefix(a.text, option)
	switch {
	case !found && !strings.HasPrefix(option, "--") && strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--"):
		before, after, has := strings.Cut(a.text[1:], option[1:])
		if !has || strings.Trim(before, "abcdefghijklmnopqrstuvwxyz0") != "" || len(before) > 3 {
			return arg{}, false
		}
		rest = after
	case !found:
		return arg{}, false
	case strings.HasPrefix(option, "--") && rest != "" && rest[0] != '=':
		return arg{}, false
	}
	if rest != "" {
		a.text = strings.TrimPrefix(rest, "=")
		return a, true
	}
	if i+1 < len(arguments) {
		return arguments[i+1], true
	}
	return arg{}, false
}
