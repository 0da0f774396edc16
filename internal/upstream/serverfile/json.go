package serverfile

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// parseJSON reads JSON with comments and trailing commas.
func parseJSON(data []byte) (node, error) {
	if at := tooDeepJSON(data); at >= 0 {
		return node{}, tooDeep(linesOf(data).at(at))
	}
	v, err := hujson.Parse(data)
	if err != nil {
		return node{}, jsonError(err)
	}
	return jsonNode(v, linesOf(data)), nil
}

func tooDeep(line int) error {
	return &FileError{Line: line, Message: fmt.Sprintf("nests deeper than %d levels", maxDepth)}
}

// tooDeepJSON is where nesting gets too deep, -1 if it does not. Text is skipped, since
// histories hold anything, and so are comments.
func tooDeepJSON(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i += textLength(data[i:]) - 1
		case '/':
			i += commentLength(data[i:]) - 1
		}
	}
	return -1
}

// textLength is the length of the text that data begins with, quotes included.
func textLength(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// commentLength is the length of the comment that data begins with, 1 if it is none.
func commentLength(data []byte) int {
	end := ""
	switch {
	case bytes.HasPrefix(data, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data, []byte("/*")):
		end = "*/"
	default:
		return 1
	}
	if i := bytes.Index(data[2:], []byte(end)); i >= 0 {
		return 2 + i + len(end)
	}
	return len(data)
}

var jsonPlace = regexp.MustCompile(`^hujson: line (\d+), column \d+: (?s)(.*)$`)

// jsonError takes the place out of an error of the parser.
func jsonError(err error) error {
	m := jsonPlace.FindStringSubmatch(err.Error())
	if m == nil {
		return &FileError{Message: "is no JSON", Err: err}
	}
	line, _ := strconv.Atoi(m[1])                   // the pattern holds digits; more than fit are no line
	if strings.HasPrefix(m[2], "invalid literal") { // which follows, and may be a secret
		return &FileError{Line: line, Message: "is no JSON: invalid value", Advice: `put text into double quotes, and write \ in it as \\`}
	}
	return &FileError{Line: line, Message: "is no JSON: " + m[2]}
}

func jsonNode(v hujson.Value, at lines) node {
	n := node{line: at.at(v.StartOffset)}
	switch x := v.Value.(type) {
	case *hujson.Object:
		n.shape = object
		for _, m := range x.Members {
			key, _ := m.Name.Value.(hujson.Literal)
			n.fields = append(n.fields, field{key: key.String(), line: at.at(m.Name.StartOffset), value: jsonNode(m.Value, at)})
		}
	case *hujson.Array:
		n.shape = list
		for _, e := range x.Elements {
			n.items = append(n.items, jsonNode(e, at))
		}
	case hujson.Literal:
		n.shape, n.text = jsonLiteral(x)
	}
	return n
}

func jsonLiteral(l hujson.Literal) (shape, string) {
	switch l.Kind() {
	case '"':
		return text, l.String()
	case '0':
		return number, string(l)
	case 't', 'f':
		return truth, string(l)
	}
	return nothing, ""
}
