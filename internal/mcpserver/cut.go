package mcpserver

import (
	"strings"
	"unicode/utf8"
)

// cutText is a text of which the middle may have been left out.
type cutText struct {
	text string
	// shown and missing count bytes of the original; next is the offset of the
	// first missing one.
	shown, missing, next int
}

// cut leaves at most limit characters of s, half from the start and half from
// the end, with marker between them. The marker's own characters count.
func cut(s string, limit int, marker func(missing, next int) string) cutText {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return cutText{text: s, shown: len(s)}
	}
	room := max(limit-utf8.RuneCountInString(marker(len(s), len(s))), 0)
	head := prefix(s, room-room/2)
	tail := suffix(s, room/2)
	missing := len(s) - len(head) - len(tail)
	var b strings.Builder
	b.WriteString(head)
	b.WriteString(marker(missing, len(head)))
	b.WriteString(tail)
	return cutText{text: b.String(), shown: len(head) + len(tail), missing: missing, next: len(head)}
}

// prefix is the first n characters of s.
func prefix(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// suffix is the last n characters of s.
func suffix(s string, n int) string {
	end := len(s)
	for ; n > 0 && end > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:end])
		end -= size
	}
	return s[end:]
}
