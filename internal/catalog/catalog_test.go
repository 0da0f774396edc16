package catalog_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/catalog"
	"github.com/gearbox-mcp/gearbox/internal/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// listed is a server of testdata, as it answers tools/list.
type listed struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	Instructions string `json:"instructions"`
	Tools        []struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"inputSchema"`
		Output      json.RawMessage `json:"outputSchema"`
		Annotations struct {
			ReadOnly    *bool `json:"readOnlyHint"`
			Destructive *bool `json:"destructiveHint"`
			Idempotent  *bool `json:"idempotentHint"`
			OpenWorld   *bool `json:"openWorldHint"`
		} `json:"annotations"`
	} `json:"tools"`
}

// realistic are servers much like well-known ones.
func realistic(tb testing.TB) []tool.Server {
	tb.Helper()
	var servers []tool.Server
	for _, name := range []string{"everything", "filesystem", "github", "memory"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			tb.Fatal(err)
		}
		var l listed
		if err := json.Unmarshal(text, &l); err != nil {
			tb.Fatal(err)
		}
		s := tool.Server{Name: l.Name, Description: l.Description, Instructions: l.Instructions}
		for _, t := range l.Tools {
			a := t.Annotations
			s.Tools = append(s.Tools, tool.Definition{
				Server: l.Name, Name: t.Name, Title: t.Title, Description: t.Description, Input: compact(tb, t.Input), Output: compact(tb, t.Output),
				Hints: tool.Hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld},
			})
		}
		servers = append(servers, s)
	}
	return servers
}

// compact is the same JSON without spaces, in the same order.
func compact(tb testing.TB, text json.RawMessage) json.RawMessage {
	tb.Helper()
	if len(text) == 0 {
		return nil
	}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted && strings.ContainsRune(" \n\t", rune(c)):
			continue
		}
		b.WriteByte(c)
	}
	return json.RawMessage(b.String())
}

func one(d tool.Definition) *catalog.Catalog {
	return catalog.New([]tool.Server{{Name: "s", Tools: []tool.Definition{d}}}, catalog.Options{})
}

func entry(tb testing.TB, c *catalog.Catalog, name string) catalog.Entry {
	tb.Helper()
	e, err := c.Resolve(name)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./internal/catalog -update and read the difference. Got:\n%s", path, got)
	}
}

func TestLevelsOfARealisticCatalog(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{
		Trusted: func(server string) bool { return server == "filesystem" },
		Note: func(d tool.Definition) string {
			if d.Hints.ReadOnly != nil && *d.Hints.ReadOnly {
				return ""
			}
			return "needs approval"
		},
	})
	all := 0
	sizes := map[catalog.Detail]int{}
	for _, detail := range catalog.Details() {
		text := catalog.Render(c.Entries(), detail)
		sizes[detail] = len(text)
		golden(t, string(detail)+".txt", text)
	}
	all = sizes[catalog.DetailSchema]
	for _, detail := range catalog.Details() {
		t.Logf("%-10s %6d characters, %3d %%", detail, sizes[detail], 100*sizes[detail]/all)
	}
	if sizes[catalog.DetailSignature]*3 > all || sizes[catalog.DetailBrief]*6 > all || sizes[catalog.DetailName]*20 > all {
		t.Errorf("levels grew: %v", sizes)
	}
	for _, s := range c.Servers() {
		stub, err := c.Stub(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, s.Module+".pyi", stub)
	}
	index, err := c.Module("")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "index.json", string(index)+"\n")
	module, err := c.Module("memory")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "memory.json", string(module)+"\n")
	golden(t, "instructions.txt", c.Instructions(catalog.DefaultBudget))
}

func TestInstructionsFitTheirBudget(t *testing.T) {
	many := realistic(t)
	for i := range 200 {
		s := many[i%4]
		s.Name = fmt.Sprintf("server-%03d", i)
		many = append(many, s)
	}
	for name, c := range map[string]struct {
		servers []tool.Server
		budget  int
		want    string
	}{
		"all that fits has signatures": {realistic(t)[3:], catalog.DefaultBudget, "def create_entities(*, entities: list["},
		"more has names":               {realistic(t), 3000, "filesystem: create_directory, directory_tree"},
		"much more has counts":         {realistic(t), 600, "everything(13), filesystem(14), github(14), memory(9)"},
		"too many servers end":         {many, 600, "servers more"},
		"nothing":                      {nil, 600, ""},
		"a server without tools":       {[]tool.Server{{Name: "x"}}, 600, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := catalog.New(c.servers, catalog.Options{}).Instructions(c.budget)
			if !strings.Contains(text, c.want) || c.want == "" && text != "" || len([]rune(text)) > c.budget+60 {
				t.Errorf("%d characters: %s", len([]rune(text)), text)
			}
		})
	}
}

func TestToolsAreFoundByEveryNameTheyHave(t *testing.T) {
	c := catalog.New([]tool.Server{
		{Name: "mail-box", Alias: "post", Tools: []tool.Definition{{Name: "send-email"}, {Name: "a.b/c"}}},
		{Name: "git.hub", Tools: []tool.Definition{{Name: "x"}, {Name: "admin.tools.list"}}},
		{Name: "class", Tools: []tool.Definition{{Name: "class"}}},
	}, catalog.Options{})
	for name, want := range map[string]string{
		"mail-box.send-email":      "post.send_email",
		"mail-box.send_email":      "post.send_email",
		"post.send_email":          "post.send_email",
		"post.send-email":          "post.send_email",
		"tools.post.send_email":    "post.send_email",
		"mail-box.a.b/c":           "post.a_b_c",
		"post.a_b_c":               "post.a_b_c",
		"git.hub.x":                "git_hub.x",
		"git_hub.x":                "git_hub.x",
		"git.hub.admin.tools.list": "git_hub.admin_tools_list",
		"class.class":              "class_.class_",
		"class_.class_":            "class_.class_",
	} {
		if got := entry(t, c, name).Name(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if e, err := c.Tool("mail-box", "send-email"); err != nil || e.Python != "send_email" {
		t.Error(e.Python, err)
	}
	if e, err := c.Tool("post", "send_email"); err != nil || e.Definition.Name != "send-email" {
		t.Error(e.Python, err)
	}
}

func TestWhatIsNotThereIsAnsweredWithCloseNames(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{})
	for name, want := range map[string]string{
		"github.create_isue":      "github.create_issue",
		"githb.create_issue":      "github.create_issue",
		"create_issue":            "github.create_issue",
		"filesystem.readTextFile": "filesystem.read_text_file",
		"memory.get_me":           "github.get_me",
	} {
		_, err := c.Resolve(name)
		missing, ok := errors.AsType[*catalog.NotFoundError](err)
		if !ok || len(missing.Close) == 0 || missing.Close[0] != want || len(missing.Close) > 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := c.Resolve("zzzz")
	if err == nil || err.Error() != "there is no zzzz; the servers are everything, filesystem, github, memory; search for the tool, or name it as server.tool" {
		t.Error(err)
	}
	_, err = catalog.New(nil, catalog.Options{}).Resolve("a.b")
	if err == nil || err.Error() != "there is no a.b: no server is connected" {
		t.Error(err)
	}
	_, err = c.Tool("github", "create-issue")
	if err == nil || !strings.Contains(err.Error(), "did you mean github.create_issue") {
		t.Error(err)
	}
	if _, err = c.Stub("gitub"); err == nil || !strings.Contains(err.Error(), "did you mean github?") {
		t.Error(err)
	}
}

func TestANameOfTwoToolsIsNoneUntilItIsClear(t *testing.T) {
	c := catalog.New([]tool.Server{
		{Name: "a", Tools: []tool.Definition{{Name: "b.c"}}},
		{Name: "a.b", Tools: []tool.Definition{{Name: "c"}}},
	}, catalog.Options{})
	_, err := c.Resolve("a.b.c")
	missing, ok := errors.AsType[*catalog.NotFoundError](err)
	if !ok || !missing.Ambiguous || !slices.Equal(missing.Close, []string{"a.b_c", "a_b.c"}) {
		t.Errorf("%v", err)
	}
	for _, e := range c.Entries() {
		if faults := e.Faults(); !e.Ambiguous || len(faults) != 1 || !strings.HasPrefix(faults[0], "Its server.tool reads as a tool of another server") {
			t.Errorf("%s: %q", e.Name(), faults)
		}
	}
	if entry(t, c, "a_b.c").Definition.Server != "a.b" || entry(t, c, "a.b_c").Definition.Server != "a" {
		t.Error("the names in Python are not clear")
	}
}

func TestAToolThatReadsAsOneOfAnotherServerIsAmbiguousBeforeThatListsAny(t *testing.T) {
	c := catalog.New([]tool.Server{
		{Name: "my", Tools: []tool.Definition{{Name: "server.ro"}, {Name: "other.x"}, {Name: "server"}}},
		{Name: "my.server"},
		{Name: "a", Tools: []tool.Definition{{Name: "x"}}},
		{Name: "a.b", Tools: []tool.Definition{{Name: "y"}}},
		{Name: "a-b.c", Tools: []tool.Definition{{Name: "z"}}},
	}, catalog.Options{})
	var unclear []string
	for _, e := range c.Entries() {
		if e.Ambiguous {
			unclear = append(unclear, e.Definition.ID())
		}
	}
	if !slices.Equal(unclear, []string{"a.b.y", "my.server.ro"}) {
		t.Error(unclear)
	}
}

func TestOneMalformedToolSpoilsNoOther(t *testing.T) {
	c := catalog.New([]tool.Server{{Name: "s", Tools: []tool.Definition{
		{Name: "good", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)},
		{Name: "broken", Input: json.RawMessage(`{"type":`)},
		{Name: "text", Input: json.RawMessage(`"object"`)},
		{Name: "remote", Input: json.RawMessage(`{"$ref":"https://evil.test/schema.json"}`)},
		{Name: "deep", Input: json.RawMessage(strings.Repeat(`{"items":`, 2000) + `{}` + strings.Repeat(`}`, 2000))},
		{Name: "output", Output: json.RawMessage(`[`)},
		{Name: "good", Description: "another"},
		{Name: ""},
	}}, {Name: "s"}}, catalog.Options{})
	for name, want := range map[string]string{
		"good":   "",
		"broken": "The input schema cannot be read",
		"text":   "The input schema cannot be used (it is no JSON Schema, which would be an object), so that arguments are not checked here.",
		"remote": `A part of the input schema is not checked here: the reference "https://evil.test/schema.json" leads to another document, which is not fetched, so that any value passes.`,
		"deep":   "The input schema cannot be read (too large: nested deeper than 128), so that arguments are not checked here.",
		"output": "The output schema cannot be read",
		"":       "The tool has no name.",
	} {
		e, err := c.Tool("s", name)
		if err != nil {
			t.Fatal(err)
		}
		faults := e.Faults()
		if want == "" != (len(faults) == 0) || want != "" && !strings.HasPrefix(faults[0], want) {
			t.Errorf("%s: %q", name, faults)
		}
		if want != "" {
			if !strings.Contains(catalog.Render([]catalog.Entry{e}, catalog.DetailFull), want[:20]) {
				t.Errorf("%s: its fault is not shown", name)
			}
			if _, err := e.Validate(json.RawMessage(`{"x":1}`)); err != nil {
				t.Errorf("%s cannot be called: %v", name, err)
			}
		}
	}
	s, err := c.Server("s")
	if err != nil || len(s.Entries) != 7 || len(s.Faults) != 2 {
		t.Errorf("%d tools, %q, %v", len(s.Entries), s.Faults, err)
	}
	if entry(t, c, "s.good").Definition.Description != "" {
		t.Error("a second tool of the same name replaced the first")
	}
}

func TestARebuiltCatalogTakesOverWhatIsTheSame(t *testing.T) {
	before := catalog.New(realistic(t), catalog.Options{})
	servers := realistic(t)
	servers[2].Tools[0].Description = "Now it does something else."
	after := catalog.New(servers, catalog.Options{Previous: before, Note: func(tool.Definition) string { return "asks" }})
	if got, want := entry(t, after, "github.create_issue"), entry(t, before, "github.create_issue"); got.Pin == want.Pin {
		t.Error("a changed definition kept its pin")
	}
	got := entry(t, after, "github.get_issue")
	if got.Pin != entry(t, before, "github.get_issue").Pin || got.Note != "asks" || len(got.Parameters) != 3 {
		t.Errorf("%+v", got)
	}
	if a, b := catalog.Render(after.Entries(), catalog.DetailFull), catalog.Render(catalog.New(servers, catalog.Options{Note: func(tool.Definition) string { return "asks" }}).Entries(), catalog.DetailFull); a != b {
		t.Error("taking over shows something else than making anew")
	}
}

func TestACatalogIsSafeForConcurrentUse(t *testing.T) {
	c := catalog.New(realistic(t), catalog.Options{})
	done := make(chan error, 8)
	for range cap(done) {
		go func() {
			e, err := c.Resolve("github.create_issue")
			if err == nil {
				_, err = e.Validate(json.RawMessage(`{"owner":"o","repo":"r","title":"t"}`))
			}
			if err == nil {
				_, err = c.Search("issue", "", 3)
			}
			e.Faults()
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	servers := realistic(b)
	first := catalog.New(servers, catalog.Options{})
	b.Run("anew", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			catalog.New(servers, catalog.Options{})
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			catalog.New(servers, catalog.Options{Previous: first})
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	e := entry(b, catalog.New(realistic(b), catalog.Options{}), "github.create_issue")
	args := json.RawMessage(`{"owner":"o","repo":"r","title":"t","labels":["a","b"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Validate(args); err != nil {
			b.Fatal(err)
		}
	}
}
