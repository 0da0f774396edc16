package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

func many(n int) *catalog.Catalog {
	s := tool.Server{Name: "shop"}
	for i := range n {
		s.Tools = append(s.Tools, tool.Definition{Server: "shop", Name: fmt.Sprintf("item_%03d", i), Description: fmt.Sprintf("Does the thing number %d. %s", i, strings.Repeat("More words. ", 20))})
	}
	s.Tools = append(s.Tools, tool.Definition{Server: "shop", Name: "refund", Description: "Pay a customer back. In euros."})
	return catalog.New([]tool.Server{s}, catalog.Options{})
}

func TestFewToolsAreAllDescribedInFull(t *testing.T) {
	c := many(3)
	if got, want := c.ForTask("pay back", 60_000), catalog.Render(c.Entries(), catalog.DetailFull); got != want {
		t.Errorf("%s", got)
	}
	if got := catalog.New(nil, catalog.Options{}).ForTask("pay back", 100); got != "" {
		t.Errorf("no tools are %q", got)
	}
}

func TestOfManyToolsThoseThatSuitTheTaskAreDescribedInFull(t *testing.T) {
	for limit, left := range map[int]bool{30_000: false, 8_000: true, 500: true, 0: true} {
		got := many(200).ForTask("pay the customer back", limit)
		if limit > 0 && (utf8.RuneCountInString(got) > limit || !strings.Contains(got, "In euros.")) {
			t.Errorf("%d: %d characters, %s", limit, utf8.RuneCountInString(got), got)
		}
		if strings.Contains(got, "tools more: tools.search") != left {
			t.Errorf("%d: %s", limit, got)
		}
		if limit == 30_000 && strings.Count(got, "def item_") != 200 {
			t.Errorf("%d tools are there", strings.Count(got, "def item_"))
		}
	}
}
