package policy

import "strings"

// maxTarget bounds the text that is matched. A longer target is treated as
// unknown, which only a rule for every target allows.
const maxTarget = 8192

// unknown reports whether a target says nothing: it is computed while the
// program runs, or too long to be looked at.
func unknown(target string) bool {
	return target == "" || target == "*" || len(target) > maxTarget
}

// open reports whether a target leaves something open: all of it, or a part that
// is written *.
func open(target string) bool { return unknown(target) || strings.Contains(target, "*") }

// everything matches every target of its kind.
type everything struct{}

func (everything) covers(string) bool  { return true }
func (everything) touches(string) bool { return true }

// glob matches text in segments: * stays within one, and the segment **
// stands for any number of them, none included.
type glob []string

// cross is the segment that stands for any number of segments.
const cross = "**"

func (g glob) match(segments []string) bool {
	// One pass with a single point to fall back to is enough: a later ** can
	// make up for whatever an earlier one took too little of.
	p, s, star, mark := 0, 0, -1, 0
	for s < len(segments) {
		switch {
		case p < len(g) && g[p] == cross:
			star, mark = p, s
			p++
		case p < len(g) && matchSegment(g[p], segments[s]):
			p++
			s++
		case star >= 0:
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	for p < len(g) && g[p] == cross {
		p++
	}
	return p == len(g)
}

// matchSegment matches one segment, in which * stands for any characters.
func matchSegment(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// newGlob splits a pattern into segments. With least set ** stands for at least
// one segment.
func newGlob(p, separator string, least bool) (glob, *RuleError) {
	var g glob
	for seg := range strings.SplitSeq(p, separator) {
		switch {
		case seg == "":
			return nil, broken("remove the extra "+separator, "an empty part in %q", p)
		case seg == cross && least:
			g = append(g, "*", cross)
		case seg != cross && strings.Contains(seg, cross):
			return nil, broken("put it between two "+separator+", or write *", "** inside a part of %q", p)
		default:
			g = append(g, seg)
		}
	}
	return g, nil
}
