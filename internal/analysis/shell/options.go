package shell

import "strings"

// commandOptions are the options of a program whose value a shell reads or that
// it runs as a command.
func commandOptions(base string) []string {
	switch base {
	case "tar", "bsdtar", "gtar":
		return []string{"--to-command", "--use-compress-program", "-I", "--info-script", "--new-volume-script", "-F", "--rsh-command", "--rmt-command"}
	case "install":
		return []string{"--strip-program"}
	case "sdiff", "diff3":
		return []string{"--diff-program"}
	case "sort":
		return []string{"--compress-program"}
	case "rsync":
		return []string{"-e", "--rsh", "--rsync-path"}
	case "split":
		return []string{"--filter"}
	case "zip":
		return []string{"-TT", "--unzip-command"}
	case "man":
		return []string{"-P", "--pager", "-H", "--html"}
	case "nc", "ncat", "netcat":
		return []string{"-e", "-c", "--exec", "--sh-exec"}
	case "scp", "sftp":
		return []string{"-S"}
	case "git":
		return []string{"--upload-pack", "--receive-pack", "--exec", "-x", "--extcmd"}
	}
	return nil
}

// options reports commands that hide in the options of a program.
func (s *script) options(base string, arguments []arg) {
	for _, option := range commandOptions(base) {
		for i := range arguments {
			if value, ok := optionValue(option, arguments, i); ok {
				s.joinedCode(base+" "+option, arguments[i].at, []arg{value}, false)
			}
		}
	}
	if strings.HasSuffix(base, "tar") && len(arguments) > 0 && !strings.HasPrefix(arguments[0].text, "-") && strings.ContainsAny(arguments[0].text, "IF") {
		s.unsafe(dynamicCode, base+" "+arguments[0].text, arguments[0].at) // the old style, whose values follow in a row
	}
	for i := range arguments {
		switch base {
		case "tar", "bsdtar", "gtar":
			s.checkpoint(base, arguments, i)
		case "git":
			s.gitConfig(arguments, i)
		case "ssh", "scp", "sftp":
			s.proxyCommand(base, arguments, i)
		}
	}
}

// checkpoint: --checkpoint-action=exec=COMMAND runs while tar works.
func (s *script) checkpoint(base string, arguments []arg, i int) {
	action, ok := optionValue("--checkpoint-action", arguments, i)
	if !ok {
		return
	}
	if code, runs := strings.CutPrefix(action.text, "exec="); runs || !action.known {
		s.joinedCode(base+" --checkpoint-action", action.at, []arg{{code, action.known, action.word, action.at}}, false)
	}
}

// gitConfig: -c KEY=VALUE, where some keys name commands and an alias that
// begins with ! is one.
func (s *script) gitConfig(arguments []arg, i int) {
	if (arguments[i].text != "-c" && arguments[i].text != "config") || i+1 >= len(arguments) {
		return
	}
	setting := arguments[i+1]
	key, value, assigns := strings.Cut(setting.text, "=")
	if !assigns && i+2 < len(arguments) {
		value = arguments[i+2].text
	}
	key = strings.ToLower(key)
	switch {
	case strings.HasPrefix(value, "!"):
		s.code(value[1:], "git "+key, setting.at, false)
	case strings.HasPrefix(key, "alias."):
	case runsValue(key):
		s.joinedCode("git "+key, setting.at, []arg{{value, setting.known, setting.word, setting.at}}, false)
	}
}

// runsValue reports whether git runs the value of the key (git-config(1)).
func runsValue(key string) bool {
	for _, end := range []string{
		"pager", "editor", "sshcommand", "askpass", "fsmonitor", "hookspath", "external", "textconv", "program", "helper", "cmd", "command",
		"gitproxy", "clean", "smudge", "process", "driver", "uploadpack", "receivepack",
	} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return strings.HasPrefix(key, "pager.")
}

// proxyCommand: ssh -o ProxyCommand=COMMAND, LocalCommand.
func (s *script) proxyCommand(base string, arguments []arg, i int) {
	setting, ok := optionValue("-o", arguments, i)
	if !ok {
		return
	}
	key, value, _ := strings.Cut(setting.text, "=")
	if key = strings.ToLower(key); key == "proxycommand" || key == "localcommand" || key == "knownhostscommand" {
		s.joinedCode(base+" -o", setting.at, []arg{{value, setting.known, setting.word, setting.at}}, false)
	}
}
