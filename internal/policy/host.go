package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// host is a name in lower-case ASCII, or an address.
type host struct {
	name string
	addr netip.Addr
	// hidden hosts are reached by private(…) rules only.
	hidden bool
}

// parseHost brings a host into its one spelling. Resolvers read 0x7f.1,
// 2130706433 and ::ffff:127.0.0.1 as addresses too: such spellings exist to slip
// past a list, so they are always hidden.
func parseHost(s string) (host, bool) {
	name, err := asciiName(s)
	if err != nil {
		return host{}, false
	}
	if a, err := netip.ParseAddr(name); err == nil {
		plain := a.WithZone("").Unmap()
		return host{addr: plain, hidden: plain != a || isHiddenAddr(plain)}, true
	}
	if a, numeric := looseIPv4(name); numeric {
		return host{addr: a, name: name, hidden: true}, true
	}
	return host{name: name, hidden: isHiddenName(name)}, true
}

// names maps as a browser would before it looks a name up (UTS 46), but keeps
// underscores, which real host names have.
func names() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))
}

type hostError string

func (e hostError) Error() string { return string(e) }

func asciiName(s string) (string, error) {
	if strings.ContainsAny(s, " \t/\\@?#%") && !strings.Contains(s, ":") {
		return "", hostError("holds a character that no host name has")
	}
	if strings.Contains(s, ":") { // an IPv6 address is not a name to map
		return strings.ToLower(s), nil
	}
	name, err := names().ToASCII(s)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "" || len(name) > 253 || slices.Contains(strings.Split(name, "."), "") {
		return "", hostError("is empty, too long or has an empty label")
	}
	return name, nil
}

// looseIPv4 reads the spellings that inet_aton(3) takes: one to four numbers,
// each decimal, octal or hexadecimal, the last filling what is left. A name
// whose last label is a number is never a name (WHATWG URL, "ends in a number"):
// the zero Addr then stands for an address that cannot be.
func looseIPv4(name string) (a netip.Addr, numeric bool) {
	parts := strings.Split(name, ".")
	if _, err := looseNumber(parts[len(parts)-1]); err != nil {
		return netip.Addr{}, false
	}
	if len(parts) > 4 {
		return netip.Addr{}, true
	}
	var v uint64
	for i, p := range parts {
		n, err := looseNumber(p)
		last := i == len(parts)-1
		if err != nil || (!last && n > 255) || (last && n >= 1<<(8*(5-len(parts)))) {
			return netip.Addr{}, true
		}
		if last {
			v = v<<(8*(5-len(parts))) | n
		} else {
			v = v<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

func looseNumber(s string) (uint64, error) {
	switch {
	case strings.HasPrefix(s, "0x"):
		if len(s) == 2 {
			return 0, nil
		}
		return strconv.ParseUint(s[2:], 16, 32)
	case len(s) > 1 && s[0] == '0':
		if n, err := strconv.ParseUint(s, 8, 32); err == nil {
			return n, nil
		}
	}
	return strconv.ParseUint(s, 10, 32)
}

// hiddenPrefixes are the ranges that are not the public internet: IANA's
// special-purpose registries, and the ranges that carry an IPv4 address inside
// (6to4, Teredo, NAT64), through which a private one could be reached.
func hiddenPrefixes() []netip.Prefix {
	texts := []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
		"2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	}
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// metadataPublic are cloud metadata services outside those ranges (Azure's
// WireServer, Alibaba Cloud lies in 100.64.0.0/10).
const metadataPublic = "168.63.129.16"

func isHiddenAddr(a netip.Addr) bool {
	if a.String() == metadataPublic {
		return true
	}
	return slices.ContainsFunc(hiddenPrefixes(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// isHiddenName: names that never mean a public host. A single label is looked up
// in the search domains of whoever resolves it.
func isHiddenName(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	for _, zone := range []string{".localhost", ".local", ".localdomain", ".internal", ".intranet", ".private", ".lan", ".home", ".corp", ".home.arpa"} {
		if strings.HasSuffix(name, zone) {
			return true
		}
	}
	return false
}
