package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

func found(f catalog.Found) string {
	var names []string
	for _, e := range f.Entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestSearchFindsWhatIsMeant(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{})
	for query, first := range map[string]string{
		"create_issue":                        "github.create_issue",
		"create issue":                        "github.create_issue",
		"createIssue":                         "github.create_issue",
		"github.create_issue":                 "github.create_issue",
		"open a new issue in a repository":    "github.create_issue",
		"pull request":                        "github.merge_pull_request",
		"merge":                               "github.merge_pull_request",
		"issues":                              "github.list_issues",
		"read a file":                         "filesystem.read_file",
		"how do I rename a file":              "filesystem.move_file",
		"find files by pattern":               "filesystem.search_files",
		"knowledge about entities":            "memory.create_entities",
		"delete relations":                    "memory.delete_relations",
		"sum":                                 "everything.get_sum",
		"get-sum":                             "everything.get_sum",
		"excludePatterns":                     "filesystem.directory_tree",
		"pullNumber":                          "github.merge_pull_request",
		"repositry":                           "github.search_repositories",
		"complete gibberish about issue zzzz": "github.get_issue",
	} {
		f, err := c.Search(query, "", 5)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(found(f), " "); got != first {
			t.Errorf("%q finds %q", query, found(f))
		}
	}
}

func TestSearchCountsAllThatMatchByServer(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{})
	f, err := c.Search("file", "", 5)
	if err != nil || len(f.Entries) != 5 || f.Total <= 5 || f.Servers["filesystem"] == 0 || f.Servers["github"] == 0 {
		t.Errorf("%v %+v %v", found(f), f.Servers, err)
	}
	total := 0
	for _, n := range f.Servers {
		total += n
	}
	if total != f.Total {
		t.Errorf("%d of %v", f.Total, f.Servers)
	}
	text := f.Text("file", catalog.DetailName)
	if !strings.HasPrefix(text, "showing 5 of ") || !strings.Contains(text, "; servers: everything(1), filesystem(") {
		t.Error(text)
	}
}

func TestSearchKeepsToAServerByAnyName(t *testing.T) {
	c := catalog.New([]tool.Server{
		{Name: "a-b", Alias: "x", Tools: []tool.Definition{{Name: "read"}}},
		{Name: "c", Tools: []tool.Definition{{Name: "read"}}},
	}, catalog.Options{})
	for _, server := range []string{"a-b", "x"} {
		if f, err := c.Search("read", server, 0); err != nil || found(f) != "x.read" || f.Total != 1 {
			t.Errorf("%s: %s, %v", server, found(f), err)
		}
	}
	_, err := c.Search("read", "cc", 0)
	if _, ok := errors.AsType[*catalog.NotFoundError](err); !ok {
		t.Error(err)
	}
}

func TestSearchIsNeverEmptyHanded(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{})
	f, err := c.Search("qqqq", "", 5)
	if err != nil || f.Total != 0 || f.Servers["github"] != 14 {
		t.Errorf("%+v %v", f, err)
	}
	if got := f.Text("qqqq\u202e", catalog.DetailBrief); got != `Nothing matches "qqqq\u202e"; servers: everything(13), filesystem(14), github(14), memory(9)`+"\n" {
		t.Error(got)
	}
	f, err = c.Search("repositry", "", 2)
	if err != nil || !f.Guessed || !strings.HasPrefix(f.Text("repositry", catalog.DetailName), `Nothing matches "repositry"; similar: showing 2 of `) {
		t.Errorf("%+v %v", f, err)
	}
	if got := (catalog.Found{}).Text("x", catalog.DetailName); got != "No server is connected.\n" {
		t.Error(got)
	}
}

func TestAnEmptyQueryListsEverythingByName(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{})
	f, err := c.Search("  ", "memory", 3)
	if err != nil || found(f) != "memory.add_observations memory.create_entities memory.create_relations" || f.Total != 9 {
		t.Errorf("%s of %d, %v", found(f), f.Total, err)
	}
	if f, err := c.Search("", "", 10_000); err != nil || len(f.Entries) != 50 {
		t.Errorf("%d, %v", len(f.Entries), err)
	}
}

func TestSearchAnswersTheSameEachTime(t *testing.T) {
	servers := realistic(t)
	first, err := catalog.New(servers, catalog.Options{}).Search("list files or issues", "", 20)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		servers[0], servers[3] = servers[3], servers[0]
		again, err := catalog.New(servers, catalog.Options{}).Search("list files or issues", "", 20)
		if err != nil || found(again) != found(first) {
			t.Fatalf("%s and %s, %v", found(first), found(again), err)
		}
	}
}
