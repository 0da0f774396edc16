package shell

import (
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// installs reports the packages that an installer is asked for.
func (s *script) installs(base string, arguments []arg) {
	if strings.HasPrefix(base, "python") && len(arguments) > 1 && arguments[0].text == "-m" {
		base, arguments = arguments[1].text, arguments[2:]
	}
	verbs, values := installer(base)
	for _, verb := range verbs {
		words := strings.Fields(verb)
		rest, ok := follow(arguments, words)
		if !ok {
			continue
		}
		for _, a := range packages(rest, values) {
			target := computed
			if a.known {
				target = requirement(a.text)
			}
			s.add(policy.Install, target, base+" "+verb, a.at)
		}
		return
	}
}

// installer knows how the installers are told to install, and which of their
// short options are followed by a value.
func installer(base string) (verbs []string, values string) {
	switch {
	case base == "pip" || strings.HasPrefix(base, "pip3") || base == "pip2" || base == "pipx":
		return []string{"install", "download", "wheel"}, "rcifte"
	case base == "uv":
		return []string{"pip install", "add", "tool install", "tool run"}, "rcifp"
	}
	switch base {
	case "conda", "mamba", "micromamba":
		return []string{"install", "create"}, "ncp"
	case "poetry", "pdm", "rye", "pnpm", "yarn", "bun":
		return []string{"add", "install"}, ""
	case "npm":
		return []string{"install", "i", "add", "ci", "exec"}, ""
	case "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "brew", "snap", "port":
		return []string{"install", "reinstall"}, "tcoa"
	case "apk":
		return []string{"add"}, "Xtp"
	case "pacman":
		return []string{"-S", "-Sy", "-Syu"}, ""
	case "gem", "cargo", "cpan", "cpanm", "go", "luarocks":
		return []string{"install", "get", "add"}, "vi"
	case "easy_install", "npx", "uvx":
		return []string{""}, "p"
	}
	return nil, ""
}

// follow takes the words of a verb from the arguments; options may stand before.
func follow(arguments []arg, words []string) ([]arg, bool) {
	for _, w := range words {
		for len(arguments) > 0 && arguments[0].text != w && strings.HasPrefix(arguments[0].text, "-") {
			arguments = arguments[1:]
		}
		if len(arguments) == 0 || arguments[0].text != w {
			return nil, false
		}
		arguments = arguments[1:]
	}
	return arguments, true
}

func packages(arguments []arg, values string) []arg {
	var out []arg
	for i := 0; i < len(arguments); i++ {
		text := arguments[i].text
		switch {
		case strings.HasPrefix(text, "--") && !strings.Contains(text, "="):
			if longValue(text) {
				i++
			}
		case strings.HasPrefix(text, "-"):
			if len(text) == 2 && strings.IndexByte(values, text[1]) >= 0 {
				i++
			}
		default:
			out = append(out, arguments[i])
		}
	}
	return out
}

// longValue lists the long options of installers that are followed by a value.
func longValue(option string) bool {
	switch option {
	case "--requirement", "--constraint", "--index-url", "--extra-index-url", "--find-links", "--target", "--prefix", "--root", "--platform",
		"--python-version", "--name", "--python", "--channel", "--registry", "--cache-dir", "--proxy", "--index", "--from":
		return true
	}
	return false
}

// requirement is the name in a requirement, as indexes compare it; an address
// stays as it is.
func requirement(text string) string {
	if strings.Contains(text, "://") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") {
		return text
	}
	end := strings.IndexAny(text[min(1, len(text)):], "=<>!~[;@ ,")
	if end >= 0 {
		text = text[:end+1]
	}
	return strings.ToLower(strings.NewReplacer("_", "-", "--", "-").Replace(text))
}
