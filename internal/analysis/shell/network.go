package shell

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// network reports the hosts that a network program is given.
func (s *script) network(base string, arguments []arg) {
	switch base {
	case "curl", "wget", "http", "https", "aria2c", "lynx", "w3m", "links", "elinks", "ftp", "lftp", "httpie", "xh", "fetch", "axel", "youtube-dl", "yt-dlp":
		s.addresses(base, arguments, clientValues(base))
		s.transfers(base, arguments)
	case "git", "svn", "hg", "pip", "pip3", "npm", "uv", "docker", "podman", "go", "cargo", "ffmpeg", "websocat", "wscat", "aws", "gem", "apt", "apt-get":
		s.urls(base, arguments)
	case "nc", "ncat", "netcat", "telnet":
		s.hostAndPort(base, arguments)
	case "ssh", "scp", "sftp", "rsync", "mosh", "ssh-copy-id":
		s.remotes(base, arguments)
	case "socat", "openssl":
		s.endpoints(base, arguments)
	}
}

// clientValues are the short options of a client whose value is the argument
// after them.
func clientValues(base string) string {
	switch base {
	case "curl":
		return "oHdXuAebcFTmwxKEyYrQtzCPhU"
	case "wget":
		return "oOaeitTwQPUlADRIXB"
	}
	return ""
}

// addresses reports operands as addresses, with a scheme or without.
func (s *script) addresses(base string, arguments []arg, values string) {
	for i := 0; i < len(arguments); i++ {
		a := arguments[i]
		switch {
		case strings.Contains(a.text, "://"):
			s.url(base, a)
		case strings.HasPrefix(a.text, "-"):
			if len(a.text) >= 2 && a.text[1] != '-' && strings.IndexByte(values, a.text[len(a.text)-1]) >= 0 && i+1 < len(arguments) {
				i++
				s.url(base, arguments[i]) // a proxy, or a form's address
			}
			if a.text == "--output" || a.text == "--header" || a.text == "--data" || a.text == "--user-agent" || a.text == "--request" || a.text == "--user" {
				i++
			}
		default:
			s.bareAddress(base, a)
		}
	}
}

// bareAddress takes example.com/x for an address, as these clients do.
func (s *script) bareAddress(base string, a arg) {
	host, _, slash := strings.Cut(a.text, "/")
	if !a.known && !slash {
		return
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	name, port, ok := strings.Cut(host, ":")
	if !ok {
		port = "80"
	}
	if !looksLikeHost(name) {
		return
	}
	if target := hostPort(name, port); target != "" {
		s.add(policy.Net, target, base, a.at)
	}
}

func looksLikeHost(name string) bool {
	if name == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 1 || dot == len(name)-1 {
		return strings.Trim(name, "0123456789") == "" && len(name) > 5 || strings.HasPrefix(name, "0x")
	}
	return strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}

func (s *script) urls(base string, arguments []arg) {
	for _, a := range arguments {
		s.url(base, a)
		if user, rest, ok := strings.Cut(a.text, "@"); ok && base == "git" && !strings.Contains(user, "/") {
			if host, _, ok := strings.Cut(rest, ":"); ok {
				s.host(base, host, "22", a)
			}
		}
	}
}

// url reports host:port of an address, as soon as both stand in its beginning.
func (s *script) url(base string, a arg) {
	at := strings.Index(a.text, "://")
	if at < 1 {
		return
	}
	begin := strings.LastIndexFunc(a.text[:at], func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+'
	}) + 1
	scheme := strings.ToLower(a.text[begin:at])
	rest := a.text[at+3:]
	end := strings.IndexAny(rest, "/?# \t\n\\")
	if end < 0 {
		if !a.known {
			return
		}
		end = len(rest)
	}
	u, err := url.Parse(scheme + "://" + rest[:end])
	switch {
	case err != nil:
		return
	case scheme == "file":
		if a.known {
			s.add(policy.Read, rest[end:], base, a.at)
		}
		return
	}
	port := u.Port()
	if port == "" {
		port = scheme
	}
	s.host(base, u.Hostname(), port, a)
}

func (s *script) host(via, host, port string, a arg) {
	if target := hostPort(host, port); target != "" {
		s.add(policy.Net, target, via, a.at)
	}
}

// transfers reports the files that curl and wget read and write.
func (s *script) transfers(base string, arguments []arg) {
	for i, a := range arguments {
		if i+1 >= len(arguments) {
			return
		}
		next := arguments[i+1]
		switch {
		case a.text == "-o" || a.text == "-O" && base == "wget" || a.text == "--output" || a.text == "--output-document":
			s.path(policy.Write, next, base+" "+a.text)
		case a.text == "-T" || a.text == "--upload-file" || a.text == "-K" || a.text == "--config" || a.text == "--post-file":
			s.path(policy.Read, next, base+" "+a.text)
		case strings.HasPrefix(a.text, "-d") || strings.HasPrefix(a.text, "--data") || a.text == "-F" || a.text == "--form":
			if _, file, ok := strings.Cut(next.text, "@"); ok {
				s.path(policy.Read, arg{file, next.known, next.word, next.at}, base+" "+a.text)
			}
		}
	}
}

// hostAndPort reports the operands of nc host port.
func (s *script) hostAndPort(base string, arguments []arg) {
	const values = "eciIopqsTwXxPg"
	var given []arg
	for i := 0; i < len(arguments); i++ {
		a := arguments[i]
		if strings.HasPrefix(a.text, "-") {
			if len(a.text) > 1 && strings.IndexByte(values, a.text[len(a.text)-1]) >= 0 {
				i++
			}
			continue
		}
		given = append(given, a)
	}
	switch {
	case len(given) == 1 && base == "telnet":
		s.host(base, given[0].text, "telnet", given[0])
	case len(given) >= 2 && given[0].known && given[1].known:
		s.host(base, given[0].text, given[1].text, given[0])
	}
}

// remotes reports user@host and host:path.
func (s *script) remotes(base string, arguments []arg) {
	port := "22"
	for i := 0; i < len(arguments); i++ {
		a := arguments[i]
		switch {
		case strings.Contains(a.text, "://"):
			s.url(base, a)
		case strings.HasPrefix(a.text, "-"):
			if len(a.text) == 2 && strings.IndexByte("bcDEeFIiJLlmOopPQRSWw", a.text[1]) >= 0 && i+1 < len(arguments) {
				i++
				if strings.EqualFold(a.text, "-p") && arguments[i].known {
					port = arguments[i].text
				}
			}
		default:
			host, _, colon := strings.Cut(a.text, ":")
			_, name, at := strings.Cut(host, "@")
			if !at {
				name = host
			}
			if base == "ssh" || colon || base == "sftp" {
				s.host(base, name, port, a)
			}
			if base == "ssh" {
				return
			}
		}
	}
}

// endpoints reports the addresses of socat and openssl s_client.
func (s *script) endpoints(base string, arguments []arg) {
	for i, a := range arguments {
		kind, rest, ok := strings.Cut(a.text, ":")
		lower := strings.ToLower(kind)
		if ok && (strings.HasPrefix(lower, "tcp") || strings.HasPrefix(lower, "udp") || strings.HasPrefix(lower, "openssl") || strings.HasPrefix(lower, "ssl")) {
			host, port, _ := strings.Cut(rest, ":")
			port, _, _ = strings.Cut(port, ",")
			s.host(base, host, port, a)
		}
		if ok && (lower == "exec" || lower == "system") {
			s.code(rest, base+" "+lower, a.at, false)
		}
		if a.text == "-connect" && i+1 < len(arguments) {
			host, port, _ := strings.Cut(arguments[i+1].text, ":")
			s.host(base, host, port, a)
		}
	}
}
