package catalog

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DefaultBudget is how many characters of the instructions of our own server the catalog
// may take: about 1,500 tokens, which a model reads with every conversation.
const DefaultBudget = 6000

// Instructions are what a model is told of the tools before it asks: all of them with their
// signatures where that fits budget characters, else their names, else how many each server
// has. Empty where there is no tool.
func (c *Catalog) Instructions(budget int) string {
	if len(c.entries) == 0 {
		return ""
	}
	example := c.entries[0].Module // of a server that has tools
	whole := fmt.Sprintf("Tools of other servers, as Python functions for code that you run (from tools import %s), complete. %s\n", example, Boundary)
	more := "Find the others with search_tools, or inside a program with tools.search; read them with describe_tools.\n"
	names := fmt.Sprintf("Tools of other servers, as Python functions for code that you run (from tools import %s), by name. ", example) +
		"Read how they are called with describe_tools or search_tools, or inside a program with help(function).\n"
	for _, text := range []string{whole + Render(c.entries, DetailSignature), names + Render(c.entries, DetailName)} {
		if utf8.RuneCountInString(text) <= budget {
			return text
		}
	}
	var counts []string
	for _, s := range c.servers {
		counts = append(counts, fmt.Sprintf("%s(%d)", s.Module, len(s.Entries)))
	}
	text := fmt.Sprintf("Servers with tools, as Python modules for code that you run (from tools import %s): ", example)
	for i, count := range counts {
		if utf8.RuneCountInString(text+count+more) > budget && i > 0 {
			text += fmt.Sprintf("and %d servers more", len(counts)-i)
			break
		}
		text += count
		if i < len(counts)-1 {
			text += ", "
		}
	}
	return strings.TrimSuffix(text, ", ") + ". " + more
}
