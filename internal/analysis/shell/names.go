package shell

import (
	"net/netip"
	"strconv"
	"strings"
)

// changesCommands lists the variables that change what later commands mean or
// load: the shell's own, and those of the loader and of interpreters.
func changesCommands(name string) bool {
	switch name {
	case "PATH", "IFS", "ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "BASH_ALIASES", "BASH_CMDS", "BASH_LOADABLES_PATH", "PROMPT_COMMAND",
		"PS0", "PS4", "EXECIGNORE", "CDPATH", "FPATH", "SHELL",
		"GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "TAR_OPTIONS",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONBREAKPOINT", "PERL5LIB", "PERL5OPT", "PERL5DB", "RUBYOPT", "RUBYLIB",
		"NODE_OPTIONS", "NODE_PATH", "LUA_INIT", "JAVA_TOOL_OPTIONS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "AWKPATH", "AWKLIBPATH":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_")
}

// namesCommand lists the variables whose value some program runs.
func namesCommand(name string) bool {
	switch name {
	case "PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND",
		"GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "LESSOPEN", "LESSCLOSE", "BROWSER", "RSYNC_RSH", "PROMPT_COMMAND":
		return true
	}
	return false
}

// isEnvironmentName: by custom the environment is in capitals.
func isEnvironmentName(name string) bool {
	if len(name) < 2 || name[0] < 'A' || name[0] > 'Z' || isShellVariable(name) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// isShellVariable lists what bash sets itself (bash(1), Shell Variables).
func isShellVariable(name string) bool {
	switch name {
	case "COLUMNS", "COMPREPLY", "COPROC", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "HOSTNAME",
		"HOSTTYPE", "IFS", "LINENO", "LINES", "MACHTYPE", "MAPFILE", "OPTARG", "OPTERR", "OPTIND", "OSTYPE", "PIPESTATUS", "PPID",
		"PS0", "PS1", "PS2", "PS3", "PS4", "RANDOM", "REPLY", "SECONDS", "SHELLOPTS", "SRANDOM", "TIMEFORMAT", "UID":
		return true
	}
	return strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "COMP_") || strings.HasPrefix(name, "READLINE_")
}

// hostPort is the target of a connection, or nothing when it names none.
func hostPort(host, port string) string {
	host = strings.ToLower(strings.Trim(host, "[]"))
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		n = uint64(service(port))
	}
	if host == "" || n == 0 || strings.ContainsAny(host, " \t\n/\\@*") {
		return ""
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
		return "[" + host + "]:" + strconv.FormatUint(n, 10)
	}
	return host + ":" + strconv.FormatUint(n, 10)
}

// service is the port of a name in /etc/services, as far as programs are given
// names: bash looks them up for /dev/tcp too.
func service(name string) int {
	if transport, over, ok := strings.Cut(name, "+"); ok && transport != "" {
		name = over // git+https
	}
	switch name {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	case "ftp":
		return 21
	case "ssh", "scp", "sftp":
		return 22
	case "telnet":
		return 23
	case "smtp":
		return 25
	case "domain":
		return 53
	case "git":
		return 9418
	case "rsync":
		return 873
	}
	return 0
}
