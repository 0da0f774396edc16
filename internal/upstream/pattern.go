package upstream

import "strings"

// Allows reports whether the operator's lists let a tool be seen and called. In a
// pattern a star stands for any text.
func (s Spec) Allows(tool string) bool {
	return (len(s.Allow) == 0 || matches(s.Allow, tool)) && !matches(s.Deny, tool)
}

// Asks reports whether each call of a tool asks a human, by the operator's list.
func (s Spec) Asks(tool string) bool { return matches(s.Approve, tool) }

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return false
}

// match compares in linear time for each star.
func match(pattern, name string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, pieces[0])
	if !ok {
		return false
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		if _, rest, ok = strings.Cut(rest, piece); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, pieces[len(pieces)-1])
}
