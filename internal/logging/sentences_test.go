package logging_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/logging"
)

// TestOurOwnSentencesAreLoggedAsTheyAre looks at every text in the code that may come to
// be logged: masking takes out of it neither the advice nor the reason.
func TestOurOwnSentencesAreLoggedAsTheyAre(t *testing.T) {
	red := redactor(t, logging.Rules{})
	verb := regexp.MustCompile(`%[-+#.0-9]*[a-z]`)
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "../logging" || path == "../cli" || strings.HasSuffix(path, "storetest") || strings.HasSuffix(path, "oauthtest")): // patterns; what is told on a terminal; two for tests
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !strings.Contains(text, " ") || strings.Contains(text, "\n") {
				return true // no sentence
			}
			seen++
			text = verb.ReplaceAllString(text, "what")
			if got := red.Text(text); got != text {
				t.Errorf("%s: %q is logged as %q: word it otherwise", path, text, got)
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 1000 {
		t.Errorf("%d texts, %v", seen, err)
	}
}
