package oauth

import (
	"errors"
	"net/http"
	"time"
)

// NewClient is a client for authorization servers: its exchanges are short, and it follows
// none of them to another host with what was meant for that one.
func NewClient() *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 256 << 10, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(q *http.Request, via []*http.Request) error {
			if len(via) > 3 || q.URL.Host != via[0].URL.Host || q.URL.Scheme != via[0].URL.Scheme {
				return errors.New("the server sends us elsewhere")
			}
			return nil
		},
	}
}
