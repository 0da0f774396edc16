package webhook

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// CheckURL says what is wrong with an address.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, errors.New("write it as https://host/path")
	case u.User != nil:
		return nil, errors.New("a user or password does not belong into it: what is sent is signed with the secret")
	case u.Fragment != "":
		return nil, errors.New("what follows the # is not sent: leave it out")
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return nil, errors.New("over plain HTTP everybody on the way could read it: use https, or a loopback address such as http://127.0.0.1:8000/")
	}
	return nil, errors.New("write it as https://host/path")
}

func loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true // and it is checked once more where it leads
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
