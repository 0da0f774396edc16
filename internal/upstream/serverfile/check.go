package serverfile

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/gearbox-mcp/gearbox/internal/upstream"
)

// check finds what is wrong with the values of a server, now that they are known.
func (b *expansion) check() {
	for _, name := range slices.Sorted(maps.Keys(b.spec.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			b.fault("env: %q is no name of a variable", name)
		}
	}
	if b.spec.Transport == upstream.Stdio {
		b.checkCommand()
		b.checkSandbox()
		return
	}
	b.checkURL()
	for _, name := range slices.Sorted(maps.Keys(b.spec.Headers)) {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			b.fault("headers: %q is no name of a header", name)
		case !httpguts.ValidHeaderFieldValue(b.spec.Headers[name]):
			b.fault("headers: what %s holds is no value of a header: it may not hold line breaks", name)
		}
	}
}

func (b *expansion) checkCommand() {
	switch {
	case strings.TrimSpace(b.spec.Command[0]) == "":
		b.fault("command is empty: name a program")
	case restarts(b.spec.Command, b.options.Self):
		b.fault("it would start Gearbox from Gearbox: take it out of this file")
	}
}

func (b *expansion) checkURL() {
	u, err := url.Parse(b.spec.URL)
	switch {
	case err != nil: // whose text holds the address, and that perhaps a key
		b.fault("url: this is no address: write one such as https://mcp.example/mcp")
	case u.Scheme != "http" && u.Scheme != "https":
		b.fault("url: it begins with neither https:// nor http://")
	case u.Hostname() == "":
		b.fault("url: there is no host in it: write one such as https://mcp.example/mcp")
	}
}
