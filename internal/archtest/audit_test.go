package archtest

import (
	"cmp"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
)

// auditDocument is written from the source of the events and of the log keys, so that
// it says what the code says.
const auditDocument = "docs/audit-events.md"

// named is something with a name in the record and what is said of it in the source.
type named struct{ Name, Meaning string }

func TestDocumentationOfAuditEventsIsUpToDate(t *testing.T) {
	page, err := template.ParseFiles("testdata/audit-events.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	keys := constants(t, "internal/logging", "Key", "")
	types := constants(t, "internal/audit", "", "Type")
	if len(keys) == 0 || len(types) == 0 {
		t.Fatalf("%d keys and %d types of event found", len(keys), len(types))
	}
	var out strings.Builder
	if err := page.Execute(&out, map[string]any{"Types": types, "Fields": auditFields(t, keys), "Keys": keys}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, auditDocument)
	if have, err := os.ReadFile(file); err == nil && string(have) == out.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is behind internal/audit and internal/logging: make docs writes it", auditDocument)
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// constants are the string constants of a package whose names have a prefix and whose
// declared type is the one named, in the order of the source.
func constants(t *testing.T, folder, prefix, typeName string) []named {
	t.Helper()
	var out []named
	specs(t, folder, token.CONST, func(s ast.Spec) {
		v, ok := s.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, prefix) || nameOf(v.Type) != typeName {
			return
		}
		lit, ok := v.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		value, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, named{value, said(v.Doc, v.Comment)})
	})
	return out
}

// auditFields are the fields of an event by their names in JSON: those of the struct
// that has such names, or as long as there is none those of the event itself.
func auditFields(t *testing.T, keys []named) []named {
	t.Helper()
	meanings := map[string]string{}
	for _, k := range keys {
		meanings[k.Name] = k.Meaning
	}
	said := map[string]string{} // by the name in Go
	var fields []named
	structs(t, "internal/audit", func(name string, of []field) {
		if name == "Event" {
			for _, f := range of {
				said[f.name] = f.said
			}
		}
		if fields == nil && name == "Event" || of[0].json == "seq" && hasField(of, "Type") {
			fields = nil
			for _, f := range of {
				fields = append(fields, named{cmp.Or(f.json, strings.ToLower(f.name)), f.said})
			}
		}
	})
	structs(t, "internal/audit", func(_ string, of []field) {
		for _, f := range of {
			for i := range fields {
				if fields[i].Name == cmp.Or(f.json, strings.ToLower(f.name)) {
					fields[i].Meaning = cmp.Or(fields[i].Meaning, said[f.name], meanings[fields[i].Name])
				}
			}
		}
	})
	return fields
}

type field struct{ name, json, said string }

func hasField(of []field, name string) bool {
	for _, f := range of {
		if f.name == name {
			return true
		}
	}
	return false
}

// structs visits the structs of a package that have fields.
func structs(t *testing.T, folder string, visit func(name string, of []field)) {
	t.Helper()
	specs(t, folder, token.TYPE, func(s ast.Spec) {
		ts, ok := s.(*ast.TypeSpec)
		if !ok {
			return
		}
		st, ok := ts.Type.(*ast.StructType)
		if !ok {
			return
		}
		var of []field
		for _, f := range st.Fields.List {
			json := ""
			if f.Tag != nil {
				tag, _ := strconv.Unquote(f.Tag.Value)
				json, _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			}
			for _, n := range f.Names {
				of = append(of, field{n.Name, json, said(f.Doc, f.Comment)})
			}
		}
		if len(of) > 0 {
			visit(ts.Name.Name, of)
		}
	})
}

// specs visits the declarations of a kind in a package, tests left out.
func specs(t *testing.T, folder string, kind token.Token, visit func(ast.Spec)) {
	t.Helper()
	for _, p := range packages(t) {
		if p.folder != folder {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == kind && !f.test {
					for _, s := range g.Specs {
						visit(s)
					}
				}
			}
		}
	}
}

func nameOf(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// startsWithName is how a doc comment begins, and a cell of a table need not.
var startsWithName = regexp.MustCompile(`^[A-Z]\w* (?:is|are) `)

// said is a comment as the cell of a table.
func said(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if text := strings.Join(strings.Fields(c.Text()), " "); text != "" {
			return strings.TrimSuffix(startsWithName.ReplaceAllString(docLink.ReplaceAllString(text, "$1"), ""), ".")
		}
	}
	return ""
}
