package web

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const examplePage = "../../docs/examples/approvals.html"

// element is the text of the only element of a name.
func element(t *testing.T, root *html.Node, name string) (text string, found *html.Node) {
	t.Helper()
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != name {
			continue
		}
		if found != nil {
			t.Fatalf("there are two of %s", name)
		}
		found = n
		if n.FirstChild != nil {
			text = n.FirstChild.Data
		}
	}
	if found == nil {
		t.Fatalf("there is no %s", name)
	}
	return text, found
}

func TestTheExamplePageMakesNoMarkupOfWhatItIsTold(t *testing.T) {
	page, err := os.ReadFile(examplePage)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	script, _ := element(t, root, "script")
	style, _ := element(t, root, "style")
	for _, banned := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "DOMParser", "srcdoc", "createContextualFragment", "localStorage", "sessionStorage", "location.", ".href", ".src"} {
		if strings.Contains(script, banned) {
			t.Errorf("the page uses %s", banned)
		}
	}
	// Nothing but this script and style runs in the page, whatever a server sends, and
	// nothing of another place is loaded.
	var policy string
	for n := range root.Descendants() {
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" || a.Key == "style" {
				t.Errorf("<%s> has %s", n.Data, a.Key)
			}
		}
		if strings.EqualFold(attributes["http-equiv"], "Content-Security-Policy") {
			policy = attributes["content"]
		}
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	for _, want := range []string{"default-src 'none'", "script-src " + hash(script), "style-src " + hash(style)} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q has no %s", policy, want)
		}
	}
	// Each path and field that the page uses is described.
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range []string{"FullQuestion", "Call", "Permission", "Program", "Given", "Input", "Event", "Failure", "Error"} {
		all, _ := d.properties(t, name)
		for property := range all {
			known[property] = true
		}
	}
	used := regexp.MustCompile(`\b(?:question|call|brief|input|one|answer|event|error)\.([a-z_0-9]+)\b`).FindAllStringSubmatch(script, -1)
	if len(used) < 20 {
		t.Errorf("only %d fields are used", len(used))
	}
	for _, m := range used {
		if !known[m[1]] {
			t.Errorf("the page uses the field %s, which is not described", m[1])
		}
	}
}
