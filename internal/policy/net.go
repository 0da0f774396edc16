package policy

import (
	"net/netip"
	"strconv"
	"strings"
)

// ports is a closed range. The zero value is every port.
type ports struct{ low, high uint16 }

func (r ports) any() bool { return r == ports{} }

func (r ports) has(port uint16) bool { return r.any() || (port >= r.low && port <= r.high) }

// endpoint is a target of kind net, taken apart.
type endpoint struct {
	host host
	port uint16 // 0 when the source does not say
}

// parseEndpoint reads host, host:port or [address]:port. ok is false when
// nothing can be said of the target.
func parseEndpoint(target string) (e endpoint, ok bool) {
	if unknown(target) || strings.Contains(target, "*") {
		return endpoint{}, false
	}
	name, port, ok := cutPort(target)
	if !ok {
		return endpoint{}, false
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return endpoint{}, false
		}
		e.port = uint16(n)
	}
	e.host, ok = parseHost(name)
	return e, ok
}

// cutPort takes the port off. A bare IPv6 address has none.
func cutPort(s string) (host, port string, ok bool) {
	if rest, found := strings.CutPrefix(s, "["); found {
		host, tail, closed := strings.Cut(rest, "]")
		port, colon := strings.CutPrefix(tail, ":")
		return host, port, closed && (tail == "" || (colon && port != ""))
	}
	if strings.Count(s, ":") > 1 {
		return s, "", true
	}
	host, port, colon := strings.Cut(s, ":")
	return host, port, host != "" && (!colon || port != "")
}

// netPattern matches an endpoint.
type netPattern struct {
	anyHost bool // every public host
	addr    netip.Addr
	prefix  netip.Prefix
	labels  glob
	ports   ports
	private bool
}

func (m netPattern) covers(target string) bool {
	e, ok := parseEndpoint(target)
	if !ok {
		return m.anyHost && m.ports.any() && (unknown(target) || strings.Contains(target, "*"))
	}
	if e.port == 0 && !m.ports.any() {
		return false
	}
	return m.matchHost(e.host) && m.ports.has(e.port)
}

func (m netPattern) touches(target string) bool {
	e, ok := parseEndpoint(target)
	if !ok {
		return true
	}
	return m.matchHost(e.host) && (e.port == 0 || m.ports.has(e.port))
}

func (m netPattern) matchHost(h host) bool {
	switch {
	case h.hidden && !m.private:
		return false
	case m.anyHost:
		return true
	case m.prefix.IsValid():
		return h.addr.IsValid() && m.prefix.Contains(h.addr)
	case m.addr.IsValid():
		return h.addr == m.addr
	}
	return !h.addr.IsValid() && m.labels.match(strings.Split(h.name, "."))
}

// newNet reads the pattern of a net rule.
func newNet(p string) (matcher, *RuleError) {
	name, port, err := cutPattern(p)
	if err != nil {
		return nil, err
	}
	m := netPattern{}
	if m.ports, err = parsePorts(port); err != nil {
		return nil, err
	}
	if name == "*" || name == cross {
		m.anyHost = true
		return m, nil
	}
	if strings.Contains(name, "/") {
		return nil, broken("name the host; ranges of private addresses are written private(10.0.0.0/8:443)", "%q is a range or a URL, not a host", p)
	}
	if strings.Contains(name, "*") {
		m.labels, err = parseLabels(name)
		return m, err
	}
	h, ok := parseHost(name)
	switch {
	case !ok:
		return nil, broken("write a host name or an address", "%q is not a host", name)
	case h.hidden:
		return nil, broken("write private("+hostPort(name, port)+")", "%q is private, local or an unusual spelling of an address: net never covers it", name)
	case h.addr.IsValid():
		m.addr = h.addr
	default:
		m.labels = strings.Split(h.name, ".")
	}
	return m, nil
}

func hostPort(name, port string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port == "" {
		port = "443"
	}
	return name + ":" + port
}

// The widest ranges that a private rule may name: 10.0.0.0/8 and fc00::/7.
const widest4, widest6 = 8, 7

// newPrivate reads the pattern of a private rule: a host, an address or a range,
// each with its port. A private rule always says which: it is the one way to
// the machine's own network, where services trust whoever can reach them.
func newPrivate(p string) (matcher, *RuleError) {
	name, port, err := cutPattern(p)
	if err != nil {
		return nil, err
	}
	if port == "" {
		return nil, broken("add the port, for example private("+hostPort(name, "443")+"), or 1-65535 for every port", "%q names no port", p)
	}
	m := netPattern{private: true}
	if m.ports, err = parsePorts(port); err != nil {
		return nil, err
	}
	if strings.Contains(name, "/") {
		return m.withPrefix(name)
	}
	if strings.Contains(name, "*") {
		if strings.Trim(name, "*.") == "" {
			return nil, broken("name the hosts or ranges, for example private(10.0.0.0/8:443)", "%q names no host", p)
		}
		m.labels, err = parseLabels(name)
		return m, err
	}
	h, ok := parseHost(name)
	switch {
	case !ok:
		return nil, broken("write a host name, an address or a range such as 10.0.0.0/8", "%q is not a host", name)
	case h.name != "" && looksNumeric(h.name):
		return nil, broken("write the address as four decimal numbers", "%q is not an address", name)
	case h.addr.IsValid():
		m.addr = h.addr
	default:
		m.labels = strings.Split(h.name, ".")
	}
	return m, nil
}

func looksNumeric(name string) bool {
	_, numeric := looseIPv4(name)
	return numeric
}

func (m netPattern) withPrefix(text string) (matcher, *RuleError) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, broken("write for example 10.0.0.0/8 or [fd00::/8]", "%q is not a range of addresses", text)
	}
	least := widest4
	if prefix.Addr().Is6() {
		least = widest6
	}
	if prefix.Bits() < least || prefix.Addr().Is4In6() {
		return nil, broken("name a smaller range", "%q is wider than any private range", text)
	}
	if prefix != prefix.Masked() {
		return nil, broken("write "+prefix.Masked().String(), "%q has bits beyond its length", text)
	}
	m.prefix = prefix
	return m, nil
}

// cutPattern takes host and port patterns apart.
func cutPattern(p string) (name, port string, err *RuleError) {
	if strings.Contains(p, "://") {
		return "", "", broken("name host and port only, for example net(api.github.com:443)", "%q is a URL", p)
	}
	name, port, ok := cutPort(p)
	if !ok || name == "" {
		return "", "", broken("write host, host:443 or [address]:443", "%q is not host and port", p)
	}
	if strings.Contains(name, ":") && !strings.HasPrefix(p, "[") {
		return "", "", broken("write ["+name+"]", "an IPv6 address without its brackets")
	}
	return name, port, nil
}

// parseLabels reads a host name with wildcards. Labels without one are mapped
// as names are; labels with one have to be ASCII already.
func parseLabels(name string) (glob, *RuleError) {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for i, l := range labels {
		if strings.Contains(l, "*") {
			if !isPlainLabel(l) {
				return nil, broken("use letters, digits, - and *", "%q is not part of a host name", l)
			}
			labels[i] = strings.ToLower(l)
			continue
		}
		mapped, err := asciiName(l)
		if err != nil || strings.Contains(mapped, ".") {
			return nil, broken("write a host name", "%q is not part of a host name", l)
		}
		labels[i] = mapped
	}
	return newGlob(strings.Join(labels, "."), ".", true)
}

func isPlainLabel(l string) bool {
	return strings.Trim(strings.ToLower(l), "abcdefghijklmnopqrstuvwxyz0123456789-_*") == ""
}

func parsePorts(s string) (ports, *RuleError) {
	if s == "" || s == "*" {
		return ports{}, nil
	}
	lowText, highText, ranged := strings.Cut(s, "-")
	if !ranged {
		highText = lowText
	}
	low, err1 := strconv.ParseUint(lowText, 10, 16)
	high, err2 := strconv.ParseUint(highText, 10, 16)
	if err1 != nil || err2 != nil || low == 0 || high < low {
		return ports{}, broken("write 443, {80,443} or 8000-8100", "%q is not a port", s)
	}
	if low == 1 && high == 65535 {
		return ports{}, nil
	}
	return ports{uint16(low), uint16(high)}, nil
}
