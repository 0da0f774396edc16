package logging

import "strings"

// needles tell in one pass over a text which shapes can be in it at all, because most
// texts have none and a log line has many texts. Letter case does not count.
type needles struct {
	// first is by two bytes the bucket of the needles that begin with them; bucket 0 is empty.
	first   [1 << 16]uint8
	buckets [][]needle
}

// needle is a text that each match of a shape holds, in lower case.
type needle struct {
	text  string
	shape int
}

func newNeedles(shapes []shape) *needles {
	n := &needles{buckets: [][]needle{nil}}
	for i, s := range shapes {
		for _, text := range s.needles {
			at := pair(text[0], text[1])
			if n.first[at] == 0 {
				n.first[at] = uint8(len(n.buckets))
				n.buckets = append(n.buckets, nil)
			}
			bucket := &n.buckets[n.first[at]]
			*bucket = append(*bucket, needle{text, i})
		}
	}
	return n
}

// in is the set of shapes that can be in a text, a bit for each.
func (n *needles) in(s string) (shapes uint64) {
	if len(s) < 2 {
		return 0
	}
	a := lower(s[0])
	for i := 1; i < len(s); i++ {
		b := lower(s[i])
		for _, c := range n.buckets[n.first[pair(a, b)]] {
			if end := i - 1 + len(c.text); end <= len(s) && strings.EqualFold(s[i-1:end], c.text) {
				shapes |= 1 << c.shape
			}
		}
		a = b
	}
	return shapes
}

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// lower is the lower case of an ASCII letter, and any other byte as it is.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
