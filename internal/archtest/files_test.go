package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// notices holds other people's words, which no rule of ours can mend.
const notices = "THIRD_PARTY_NOTICES.md"

// longest is the number of lines at which a file is two files.
const longest = 600

func TestNoFileIsLongerThanSixHundredLines(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			if f.lines > longest {
				t.Errorf("%s has %d lines: split it by noun", f.path, f.lines)
			}
		}
	}
	for _, name := range files(t, ".py") {
		if strings.Count(read(t, name), "\n") > longest {
			t.Errorf("%s has more than %d lines: split it by noun", name, longest)
		}
	}
}

func TestEachPackageHasExactlyOnePackageComment(t *testing.T) {
	for _, p := range packages(t) {
		var documented []string
		code := false
		for _, f := range p.files {
			if f.test {
				continue
			}
			code = true
			if f.syntax.Doc != nil {
				documented = append(documented, f.path)
			}
		}
		if code && len(documented) != 1 {
			t.Errorf("%s: package comments in %v: write exactly one that says what belongs here and what does not", p.folder, documented)
		}
	}
}

func TestNothingIsLeftUnfinished(t *testing.T) {
	// What is missing returns a clear error; a note to oneself ships a gap.
	marker := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, name := range files(t, ".go", ".py", ".sh", ".md", ".yml", ".mjs", ".ts") {
		if name == notices {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			if marker.MatchString(line) {
				t.Errorf("%s:%d: unfinished by its own words: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}

func TestNothingHappensOnImport(t *testing.T) {
	// Registration by init makes behaviour depend on who imports what.
	for _, p := range packages(t) {
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, decl := range f.syntax.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function: let sidecar call it by name", f.path)
				}
			}
		}
	}
}

func TestNobodyUsesAGlobalLogger(t *testing.T) {
	global := []string{
		"slog.Default", "slog.SetDefault", "slog.Info", "slog.Warn", "slog.Error", "slog.Debug", "slog.Log", "slog.LogAttrs",
		"slog.InfoContext", "slog.WarnContext", "slog.ErrorContext", "slog.DebugContext",
	}
	for _, p := range packages(t) {
		for _, f := range p.files {
			if f.test {
				continue
			}
			if slices.Contains(f.imports, "log") {
				t.Errorf("%s imports log: loggers are injected *slog.Logger values", f.path)
			}
			for _, name := range calls(f, "log/slog") {
				if slices.Contains(global, name) {
					t.Errorf("%s uses %s: loggers are injected, so that stdout stays JSON-RPC and redaction always applies", f.path, name)
				}
			}
		}
	}
}

func TestNoTestWaitsByTheClock(t *testing.T) {
	// A sleep is either too short on a busy machine or too long on an idle one.
	for _, p := range packages(t) {
		for _, f := range p.files {
			if f.test && slices.Contains(calls(f, "time"), "time.Sleep") {
				t.Errorf("%s sleeps: wait for the event, or inject a clock", f.path)
			}
		}
	}
}

func TestEverySkipSaysWhy(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if ok && (sel.Sel.Name == "SkipNow" || sel.Sel.Name == "Skip" && len(call.Args) == 0) {
					t.Errorf("%s skips without a reason", f.path)
				}
				return true
			})
		}
	}
}

// stringLiterals lists the values of the string literals of f.
func stringLiterals(f file) []string {
	var texts []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil {
			texts = append(texts, text)
		}
		return true
	})
	return texts
}
