package catalog

import (
	"fmt"
	"unicode/utf8"
)

// inFull is how many tools a model is told everything about where there is no room to tell
// that of all.
const inFull = 12

// ForTask describes the tools to a model that is to solve a task, in at most limit
// characters: all of them in full where there is room, else in full those that suit the
// task best, how the others are called as far as there is room, and how many are left out.
// Empty where there is no tool.
func (c *Catalog) ForTask(task string, limit int) string {
	if text := Render(c.entries, DetailFull); utf8.RuneCountInString(text) <= limit {
		return text
	}
	const left = "# %d tools more: tools.search(\"words\") finds them.\n"
	room := limit - utf8.RuneCountInString(fmt.Sprintf(left, len(c.entries)))
	level := make([]Detail, len(c.entries))
	for i, at := range c.suited(task) {
		for _, d := range []Detail{DetailFull, DetailSignature} {
			size := utf8.RuneCountInString(Render(c.entries[at:at+1], d))
			if size <= room && (d != DetailFull || i < inFull) {
				level[at], room = d, room-size
				break
			}
		}
	}
	text, told := "", 0
	for _, d := range []Detail{DetailFull, DetailSignature} {
		var some []Entry
		for at, e := range c.entries {
			if level[at] == d {
				some = append(some, e)
			}
		}
		text, told = text+Render(some, d), told+len(some)
	}
	if told < len(c.entries) {
		text += fmt.Sprintf(left, len(c.entries)-told)
	}
	return text
}

// suited is the order of all tools for a task: those that a search finds first.
func (c *Catalog) suited(task string) []int {
	hits, _ := c.rank(task, "")
	order, found := make([]int, 0, len(c.entries)), make([]bool, len(c.entries))
	for _, h := range hits {
		order, found[h.at] = append(order, h.at), true
	}
	for at := range c.entries {
		if !found[at] {
			order = append(order, at)
		}
	}
	return order
}
