//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
	"github.com/gearbox-mcp/gearbox/internal/sandbox/sandboxtest"
)

// sends finds the bridge and sends a result of its own with a descriptor attached, then
// works on as if nothing had happened.
const sends = `
import array, base64, os, socket, stat, time
for fd in range(3, 4096):
    try:
        if not stat.S_ISSOCK(os.fstat(fd).st_mode):
            continue
    except OSError:
        continue
    with socket.socket(fileno=os.dup(fd)) as bridge:
        bridge.sendmsg([base64.b64decode(data)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 2]))])
if os.fork() == 0:
    while True:
        os.write(1, b"x" * 1000)
while True:
    with open("/workspace/late", "a") as late:
        late.write("after the answer")
`

// TestAForgedResultIsAClaimAndItsDescriptorsAreDropped: a program can answer in the name of
// the guest, which is worth what it prints; nothing that it sends along reaches the host,
// and nothing that it does later is waited for.
func TestAForgedResultIsAClaimAndItsDescriptorsAreDropped(t *testing.T) {
	s := open(t, sandbox.Shape{})
	drive(t, s, sandboxtest.Program{Code: "1"}) // the poller and the watcher have what they keep
	before := entries(t)
	out := drive(t, s, sandboxtest.Program{Code: sends, Variables: map[string]any{"data": result(t, `{"outcome":"ok","exit_code":0,"value":"forged"}`)}})
	if out.Result == nil || string(out.Result.Value) != `"forged"` || out.Ended.Cause != sandbox.CauseFinished {
		t.Errorf("result %+v, ended %+v", out.Result, out.Ended)
	}
	if after := entries(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func entries(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

var _ io.ReadWriteCloser = (*buffer)(nil)

func result(t *testing.T, head string) string {
	t.Helper()
	var b buffer
	if err := bridge.New(&b).WriteFrame(bridge.Frame{Kind: bridge.Result, ID: 7, Head: []byte(head)}); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
