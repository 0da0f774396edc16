package web

// What is wrong with a configuration is said by these too, without listening. The
// methods of [Server] refuse the same.

// CheckTCP says why [Server.ListenTCP] would refuse an address.
func CheckTCP(address string, tokens Tokens) error {
	_, _, err := reach(address, tokens)
	return err
}

// CheckTLS says why [Server.ListenTCP] would refuse the files of a certificate and its
// key; both may be empty.
func CheckTLS(cert, key string) error {
	_, err := tlsConfig(cert, key)
	return err
}

// CheckUnix says why [Server.ListenUnix] would refuse a path, whoever has a socket there.
func CheckUnix(path string) error {
	_, err := socketPath(path)
	return err
}

// CheckHost says why a name cannot be one of Config.Hosts.
func CheckHost(name string) error {
	_, err := newGate([]string{name}, nil)
	return err
}

// CheckOrigin says why an origin cannot be one of Config.Origins.
func CheckOrigin(origin string) error {
	_, err := newGate(nil, []string{origin})
	return err
}
