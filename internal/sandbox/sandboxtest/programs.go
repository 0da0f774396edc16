package sandboxtest

import "embed"

//go:embed programs/*.py
var programs embed.FS

// program reads one of the longer programs of the suite.
func program(name string) string {
	text, err := programs.ReadFile("programs/" + name)
	if err != nil {
		panic(err) // the file is part of this package
	}
	return string(text)
}
