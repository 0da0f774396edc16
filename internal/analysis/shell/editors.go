package shell

import (
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// awk reports what an awk program starts and opens.
func (s *script) awk(arguments []arg) {
	first := patterns("awk", arguments)
	for i, a := range arguments {
		switch option, _, _ := strings.Cut(a.text, "="); {
		case i > 0 && isAwkValue(arguments[i-1].text), strings.HasPrefix(a.text, "-F"), strings.HasPrefix(a.text, "-v"):
		case len(option) > 3 && (strings.HasPrefix("--field-separator", option) || strings.HasPrefix("--assign", option)):
		case readsProgram(option):
			s.unsafe(dynamicCode, "awk "+clip(option, 2), a.at)
		case a.known:
			s.awkCode(a) // programs are few and files look like none
		case i == first:
			s.unsafe(dynamicCode, "awk", a.at)
		}
	}
}

// isAwkValue: the argument after these is no program.
func isAwkValue(option string) bool {
	return option == "-F" || option == "-v" || (len(option) > 3 && (strings.HasPrefix("--field-separator", option) || strings.HasPrefix("--assign", option)))
}

// readsProgram: -f, -E, -i and -l of gawk take code from a file.
func readsProgram(option string) bool {
	for _, short := range []string{"-f", "-E", "-i", "-l"} {
		if strings.HasPrefix(option, short) {
			return true
		}
	}
	for _, long := range []string{"--file", "--exec", "--include", "--load"} {
		if len(option) > 3 && strings.HasPrefix(long, option) {
			return true
		}
	}
	return false
}

// awkCode looks for system(…), pipes and connections outside texts, without
// parsing the language: what follows decides whether the command is constant.
func (s *script) awkCode(program arg) {
	text := program.text
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '#':
			i += strings.IndexByte(text[i:]+"\n", '\n')
		case text[i] == '/' && beginsPattern(text[:i]):
			i = endOfPattern(text, i)
		case text[i] == '"':
			end := endOfText(text, i)
			s.awkText(text, i, end, program)
			i = end
		case text[i] == '@' && strings.HasPrefix(text[i:], "@load"):
			s.unsafe("native", "awk @load", program.at)
		case text[i] == '|' && i+1 < len(text):
			if text[i+1] == '|' {
				i++
				continue
			}
			s.awkPipe(text[i+1:], program)
		case strings.HasPrefix(text[i:], "system") && !isWordByte(text, i-1):
			if rest, ok := strings.CutPrefix(strings.TrimLeft(text[i+6:], " "), "("); ok {
				s.awkCommand(rest, "awk system", program)
			}
		}
	}
}

// awkText: "command" | getline reads from a command, "/inet/tcp/…" connects.
func (s *script) awkText(text string, from, to int, program arg) {
	inner := text[from+1 : min(to, len(text))]
	parts := strings.Split(inner, "/")
	if len(parts) >= 6 && parts[0] == "" && strings.HasPrefix(parts[1], "inet") {
		target := hostPort(parts[4], parts[5])
		if target == "" {
			target = computed
		}
		s.add(policy.Net, target, "awk "+parts[1], program.at)
	}
	s.awkFile(strings.TrimRight(text[:from], " "), inner, program)
	rest := strings.TrimLeft(text[min(to+1, len(text)):], " )")
	if after, ok := strings.CutPrefix(strings.TrimPrefix(rest, "|&"), "|"); (ok || strings.HasPrefix(rest, "|&")) && strings.HasPrefix(strings.TrimLeft(after, " &"), "getline") {
		s.code(unescape(inner), "awk getline", program.at, false)
	}
}

// awkFile: print > "file", getline < "file".
func (s *script) awkFile(before, name string, program arg) {
	switch {
	case !isOutside(name):
	case strings.HasSuffix(before, ">"):
		s.add(policy.Write, name, "awk >", program.at)
	case strings.HasSuffix(before, "<"):
		s.add(policy.Read, name, "awk <", program.at)
	}
}

// awkPipe: print | "command".
func (s *script) awkPipe(rest string, program arg) {
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "&"), " ")
	if strings.HasPrefix(rest, "getline") {
		return // the text or name before it was the command
	}
	s.awkCommand(rest, "awk |", program)
}

// awkCommand analyses a command that is one constant text.
func (s *script) awkCommand(rest, via string, program arg) {
	rest = strings.TrimLeft(rest, " ")
	if !strings.HasPrefix(rest, `"`) {
		s.add(policy.Run, computed, via, program.at)
		return
	}
	end := endOfText(rest, 0)
	after := strings.TrimLeft(rest[min(end+1, len(rest)):], " ")
	if after != "" && strings.IndexByte(");}\n|", after[0]) < 0 {
		s.add(policy.Run, computed, via, program.at) // joined with something
	}
	s.code(unescape(rest[1:min(end, len(rest))]), via, program.at, false)
}

// beginsPattern reports whether a slash begins a pattern, not a division.
func beginsPattern(before string) bool {
	before = strings.TrimRight(before, " \t")
	return before == "" || strings.IndexByte("{}(,;~!&|\n", before[len(before)-1]) >= 0
}

func endOfPattern(text string, from int) int {
	for i := from + 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			return i
		}
	}
	return from // no pattern after all
}

// endOfText is the place of the quotation mark that ends the one at from.
func endOfText(text string, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"', '\n':
			return i
		}
	}
	return len(text)
}

func unescape(text string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\/`, `/`, `\n`, "\n", `\t`, "\t").Replace(text)
}

func isWordByte(text string, i int) bool {
	if i < 0 {
		return false
	}
	c := text[i]
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
}

// sed reports the commands of GNU sed that run programs (e, s///e) or open files
// (r, w).
func (s *script) sed(arguments []arg) {
	given := false
	for i, a := range arguments {
		if a.text == "--posix" || a.text == "--sandbox" {
			return // neither knows them
		}
		if value, ok := optionValue("-e", arguments, i); ok {
			given = true
			s.sedScript(value)
		} else if value, ok := optionValue("--expression", arguments, i); ok {
			given = true
			s.sedScript(value)
		} else if _, ok := optionValue("-f", arguments, i); ok || strings.HasPrefix(a.text, "--fi") {
			given = true
			s.unsafe(dynamicCode, "sed -f", a.at)
		}
	}
	if at := patterns("sed", arguments); !given && at >= 0 {
		s.sedScript(arguments[at])
	}
}

func (s *script) sedScript(a arg) {
	if !a.known {
		s.unsafe(dynamicCode, "sed", a.at)
		return
	}
	for text := a.text; text != ""; {
		text = strings.TrimLeft(text, " \t\n;{}!")
		text = sedAddress(text)
		if text == "" {
			return
		}
		text = s.sedCommand(text[0], text[1:], a)
	}
}

// sedAddress takes the addresses before a command off.
func sedAddress(text string) string {
	for text != "" {
		switch c := text[0]; {
		case c >= '0' && c <= '9' || strings.IndexByte(" \t,$~+!", c) >= 0:
			text = text[1:]
		case c == '/':
			text = strings.TrimLeft(afterDelimiter(text[1:], '/'), "IM")
		case c == '\\' && len(text) > 1:
			text = strings.TrimLeft(afterDelimiter(text[2:], text[1]), "IM")
		default:
			return text
		}
	}
	return text
}

// sedCommand reports one command and gives what stands after it.
func (s *script) sedCommand(command byte, rest string, a arg) string {
	line, after, _ := strings.Cut(rest, "\n")
	switch command {
	case 's', 'y':
		return s.sedSubstitute(command, rest, a)
	case 'e':
		if code := strings.TrimSpace(line); code != "" {
			s.code(code, "sed e", a.at, false)
		} else {
			s.add(policy.Run, computed, "sed e", a.at) // it runs the line that was read
		}
		return after
	case 'r', 'R', 'w', 'W':
		kind := policy.Read
		if command == 'w' || command == 'W' {
			kind = policy.Write
		}
		if name := strings.TrimSpace(line); name != "" {
			s.add(kind, name, "sed "+string(command), a.at)
		}
		return after
	case 'a', 'i', 'c', '#', ':', 'b', 't', 'T':
		if command == 'b' || command == 't' || command == 'T' {
			if _, next, ok := strings.Cut(line, ";"); ok {
				return next + "\n" + after
			}
		}
		return after
	}
	return rest
}

// sedSubstitute: the flag e runs what the substitution made, w writes it.
func (s *script) sedSubstitute(command byte, rest string, a arg) string {
	if rest == "" {
		return ""
	}
	rest = afterDelimiter(afterDelimiter(rest[1:], rest[0]), rest[0])
	if command == 'y' {
		return rest
	}
	end := strings.IndexAny(rest, ";}\n ")
	flags := rest
	if end >= 0 {
		flags = rest[:end]
	}
	flags, _, writes := strings.Cut(flags, "w")
	if strings.Contains(flags, "e") {
		s.add(policy.Run, computed, "sed s///e", a.at)
	}
	if writes {
		_, line, _ := strings.Cut(rest, "w")
		line, after, _ := strings.Cut(line, "\n")
		if file := strings.TrimSpace(line); file != "" {
			s.add(policy.Write, file, "sed w", a.at)
		}
		return after
	}
	if end < 0 {
		return ""
	}
	return rest[end:]
}

// afterDelimiter is the text behind the next delimiter that is neither escaped
// nor in brackets.
func afterDelimiter(text string, delimiter byte) string {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case delimiter:
			return text[i+1:]
		}
	}
	return ""
}

// dc reports the commands of GNU dc that begin with ! (but !<, !=, !> compare).
func (s *script) dc(c command, arguments []arg) {
	given := false
	for i, a := range arguments {
		value, ok := optionValue("-e", arguments, i)
		if !ok {
			value, ok = optionValue("--expression", arguments, i)
		}
		if !ok || !value.known {
			continue
		}
		given = true
		for line := range strings.SplitSeq(value.text, "\n") {
			if _, code, found := strings.Cut(line, "!"); found && strings.TrimLeft(code, "<=>") == code {
				s.code(code, "dc !", a.at, false)
			}
		}
	}
	if !given {
		s.unsafe(dynamicCode, "dc", c.at)
	}
}
