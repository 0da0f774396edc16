package upstream

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// inherited are the variables that a server gets of our environment: what any program
// needs to start beside us, and to reach the network as we do. No key is among them, and
// whatever else a server needs its operator declares.
func inherited() []string {
	names := []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	}
	if runtime.GOOS == "windows" {
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
			"APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "PROGRAMDATA", "PROGRAMFILES",
			"PROGRAMFILES(X86)", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS")
	}
	return names
}

// environment is that of a server's program: what it inherits, and what its operator
// declares, which wins.
func environment(ours []string, declared map[string]string) map[string]string {
	env := map[string]string{}
	for _, name := range inherited() {
		if v, ok := lookup(ours, name); ok {
			env[name] = v
		}
	}
	for name, v := range declared {
		if runtime.GOOS == "windows" {
			maps.DeleteFunc(env, func(k, _ string) bool { return strings.EqualFold(k, name) })
		}
		env[name] = v
	}
	return env
}

// lookup is the value of a variable; the last one of a name counts.
func lookup(environ []string, name string) (string, bool) {
	for _, e := range slices.Backward(environ) {
		k, v, ok := strings.Cut(e, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v, true
		}
	}
	return "", false
}

func list(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}
