package serverfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-envparse"
)

// load reads the env files of the operator. A later one is stronger.
func (x expander) load(files []string) ([]Warning, error) {
	var all []Warning
	var errs []error
	for _, path := range unique(files) {
		read, warnings, err := readEnv(path)
		all, errs = append(all, warnings...), append(errs, err)
		maps.Copy(x.env, read)
	}
	return all, errors.Join(errs...)
}

// cutShort finds a value that would end at a # in its middle.
var cutShort = regexp.MustCompile(`^[^#=]*=\s*[^#'"\s][^#'"]*[^#'"\s]?#`)

// readEnv reads a file of NAME=value lines. Nothing in it is expanded or run: what stands
// there is the value. Errors hold no value.
func readEnv(path string) (map[string]string, []Warning, error) {
	data, err := readFile(path, maxEnv)
	if err != nil {
		return nil, nil, err
	}
	data = bytes.TrimPrefix(data, byteOrderMark)
	if line := cutLine(data); line > 0 {
		return nil, nil, &FileError{File: path, Line: line, Message: "a # with no space before it, in a value without quotes", Advice: "put the value into quotes"}
	}
	read, err := parseEnv(data)
	var at *envparse.ParseError
	switch {
	case errors.As(err, &at):
		return nil, nil, &FileError{File: path, Line: at.Line, Message: "is no NAME=value: " + at.Err.Error(), Advice: "put values with quotes or control characters into double quotes, as JSON has them"}
	case err != nil:
		return nil, nil, &FileError{File: path, Message: "cannot be read", Err: err}
	}
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if strings.Contains(read[name], "${") {
			warnings = append(warnings, Warning{File: path, Message: fmt.Sprintf("%s: ${…} is not expanded in an env file", name)})
		}
	}
	return read, warnings, nil
}

func parseEnv(data []byte) (map[string]string, error) { return envparse.Parse(bytes.NewReader(data)) }

// cutLine is the first line whose value would silently end at a #, 0 if there is none.
func cutLine(data []byte) int {
	for i, line := range strings.Split(string(data), "\n") {
		if m := cutShort.FindString(line); m != "" && !strings.HasSuffix(strings.TrimSuffix(m, "#"), " ") && !strings.HasSuffix(strings.TrimSuffix(m, "#"), "\t") {
			return i + 1
		}
	}
	return 0
}
