package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/upstream/oauth/oauthtest"
)

// visitor is standard error of which somebody opens the address that is printed.
type visitor struct {
	open func(address string) error

	mu     sync.Mutex // guards text
	text   bytes.Buffer
	opened bool
}

var printedAddress = regexp.MustCompile(`http://\S+/authorize\S+`)

func (v *visitor) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text.Write(p)
	if at := printedAddress.FindString(v.text.String()); at != "" && !v.opened {
		v.opened = true
		return len(p), v.open(at)
	}
	return len(p), nil
}

func TestALoginIsKeptUntilItIsForgotten(t *testing.T) {
	alone(t)
	authority := oauthtest.New(t)
	inner := mcp.NewServer(&mcp.Implementation{Name: "inner", Version: "1"}, nil)
	authority.Inner = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return inner }, nil)
	text, err := json.Marshal(map[string]any{"servers": map[string]any{"web": map[string]any{"url": authority.URL + "/mcp"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("GEARBOX_DATA_DIR"), "mcp_servers.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := command(t, "", "upstream", "test"); code != exitFailed || !strings.Contains(stdout, "gearbox upstream login web") {
		t.Errorf("before: %d, %s", code, stdout)
	}
	v := &visitor{open: oauthtest.Browser(t)}
	var out bytes.Buffer
	if code := Main(t.Context(), Streams{In: strings.NewReader(""), Out: &out, Err: v}, []string{"upstream", "login", "--no-browser", "web"}); code != 0 || out.String() != "logged in to web\n" {
		t.Fatalf("%d, %s, %s", code, &out, &v.text)
	}
	if code, stdout, stderr := command(t, "", "upstream", "test"); code != 0 || !strings.Contains(stdout, "0 tools over auto") {
		t.Errorf("logged in: %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := command(t, "", "upstream", "logout", "web"); code != 0 || stdout != "logged out of web\n" {
		t.Errorf("logout: %d, %s", code, stdout)
	}
	if code, stdout, _ := command(t, "", "upstream", "test"); code != exitFailed || !strings.Contains(stdout, "gearbox upstream login web") {
		t.Errorf("after: %d, %s", code, stdout)
	}
}
