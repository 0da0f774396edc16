package sidecar

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Reachable are the addresses at which the running servers of a data directory answer
// clients over HTTP: URLs, and paths of sockets, which come first since they need no
// token. reports are all that run there, as [Instances] has them.
func Reachable(ctx context.Context, o Options) (dataDir string, addresses []string, reports []Report, err error) {
	dataDir, reports, err = Instances(ctx, o)
	if err != nil {
		return dataDir, nil, nil, err
	}
	var urls []string
	for _, r := range reports {
		if r.Status == nil {
			continue
		}
		for _, a := range r.Status.Addresses {
			if strings.Contains(a, "://") {
				urls = append(urls, nearest(a))
			} else {
				addresses = append(addresses, a)
			}
		}
	}
	return dataDir, append(addresses, urls...), reports, nil
}

// nearest leads to a server on this machine that listens on all of its addresses.
func nearest(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.String()
}
