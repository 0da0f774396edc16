package agent

import (
	"errors"
	"slices"
	"strings"
)

// What is wrong with a reply, in the words in which the model is told.
var (
	errNoBlock  = errors.New("your reply holds no fenced block of Python")
	errBlocks   = errors.New("your reply holds several blocks of Python, and it is not clear which is the program")
	errNothing  = errors.New("the block of Python in your reply is empty")
	errCutShort = errors.New("your reply was cut off before its end: write a shorter program")
)

// lookLine as the last line of a program says that the model wants to see its output.
const lookLine = "# continue"

// python are the info strings of a block of Python.
var python = []string{"python", "py", "python3", "tool_code"}

// block is a fenced block of Markdown (CommonMark 0.31, 4.5).
type block struct{ info, text string }

// program takes the one program out of a reply. Blocks without a language count when there
// is none of Python.
func program(reply string) (string, error) {
	var named, plain []block
	for _, b := range blocks(afterThought(reply)) {
		switch {
		case slices.Contains(python, b.info):
			named = append(named, b)
		case b.info == "":
			plain = append(plain, b)
		}
	}
	if len(named) == 0 {
		named = plain
	}
	switch {
	case len(named) == 0:
		return "", errNoBlock
	case len(named) > 1:
		return "", errBlocks
	case strings.TrimSpace(named[0].text) == "":
		return "", errNothing
	}
	return named[0].text, nil
}

// looks reports whether a program is a look around.
func looks(code string) bool {
	code = strings.TrimSpace(code)
	return strings.TrimSpace(code[strings.LastIndexByte(code, '\n')+1:]) == lookLine
}

// afterThought leaves out what a model thought aloud: programs in it were dismissed.
func afterThought(reply string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(reply, " \t\r\n"), "<think>")
	if !ok {
		return reply
	}
	_, answer, _ := strings.Cut(rest, "</think>")
	return answer
}

// blocks reads the fenced blocks. The end of the text ends an open one.
func blocks(text string) []block {
	var out []block
	var open fence
	var info string
	var inside strings.Builder
	for line := range strings.Lines(text) {
		f, rest := fenceOf(line)
		switch {
		case open.mark == "" && f.mark != "" && (f.mark[0] == '~' || !strings.Contains(rest, "`")):
			open, info = f, firstWord(rest)
			inside.Reset()
		case open.mark != "" && f.closes(open) && rest == "":
			out = append(out, block{info, inside.String()})
			open = fence{}
		case open.mark != "":
			inside.WriteString(outdent(line, open.indent))
		}
	}
	if open.mark != "" {
		out = append(out, block{info, inside.String()})
	}
	return out
}

// fence is what begins or ends a block: backticks or tildes, after some spaces.
type fence struct {
	mark   string
	indent int
}

func (f fence) closes(open fence) bool {
	return f.mark != "" && f.mark[0] == open.mark[0] && len(f.mark) >= len(open.mark)
}

// fenceOf is the fence that a line begins with, the zero fence if it begins with none, and
// the rest of the line.
func fenceOf(line string) (f fence, rest string) {
	line = strings.TrimRight(line, " \t\r\n")
	at := strings.TrimLeft(line, " ")
	indent := len(line) - len(at)
	if indent > 3 || at == "" || at[0] != '`' && at[0] != '~' {
		return fence{}, ""
	}
	rest = strings.TrimLeft(at, at[:1])
	mark := at[:len(at)-len(rest)]
	if len(mark) < 3 {
		return fence{}, ""
	}
	return fence{mark, indent}, strings.TrimSpace(rest)
}

// outdent takes at most n spaces from the begin of a line: those that its fence has too.
func outdent(line string, n int) string {
	for ; n > 0 && strings.HasPrefix(line, " "); n-- {
		line = line[1:]
	}
	return line
}

func firstWord(info string) string {
	word, _, _ := strings.Cut(strings.ReplaceAll(info, "\t", " "), " ")
	return strings.ToLower(strings.Trim(word, "{}."))
}
