package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// legacy is a server that knows versions with an initialize alone. Its argument says what it
// does about requests that it does not know: refuses, ignores, or ends.
func legacy() {
	about := os.Args[1]
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		answer := ""
		switch {
		case about == "ends":
			fmt.Fprintln(os.Stderr, "the last words of a server")
			return
		case q.Method == "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"legacy","version":"1"},"capabilities":{"tools":{}}}`
		case q.Method == "tools/list":
			answer = `"result":{"tools":[{"name":"old","inputSchema":{"type":"object"}}]}`
		case q.Method == "tools/call":
			answer = `"result":{"content":[{"type":"text","text":"a\u001b[2Jb"}]}`
		case about == "ignores":
			continue
		default:
			answer = `"error":{"code":-32601,"message":"method not found"}`
		}
		fmt.Fprintf(os.Stdout, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", q.ID, answer)
	}
}

func debug(t *testing.T, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "gearbox", append([]string{"debug"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code is checked instead
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func TestDebugOverHTTPShowsMessagesAndNoCredential(t *testing.T) {
	w := startHTTP(t, 1, "--http", "127.0.0.1:0")
	defer w.stop(os.Interrupt)
	const secret = "very-secret-token"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, exit := debug(t, "--url", w.addresses[0]+"/mcp", "--call", "list_packages")
	if exit != 0 {
		t.Fatalf("exit %d: %s%s", exit, out, errOut)
	}
	for _, want := range []string{`-> {"jsonrpc":"2.0","id":1,"method":"server/discover"`, `<- {"jsonrpc":"2.0","id":1,"result"`, "   tool execute\n", `"method":"tools/call"`, "   list_packages answered:\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	out, errOut, exit = debug(t, "--url", w.addresses[0]+"/mcp", "--token-file", file)
	if exit == 0 || !strings.Contains(out, "HTTP 401") || strings.Contains(out+errOut, secret) {
		t.Errorf("exit %d: %s%s", exit, out, errOut)
	}
}
