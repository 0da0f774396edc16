//go:build unix

package guest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
	"github.com/gearbox-mcp/gearbox/internal/guest"
)

// pythonVariable names the interpreter that runs the guest, instead of the
// embedded one.
const pythonVariable = "GEARBOX_TEST_PYTHON"

func python(t *testing.T) string {
	t.Helper()
	if p := os.Getenv(pythonVariable); p != "" {
		return p
	}
	inst := cpythontest.Interpreter(t)
	t.Cleanup(inst.Release)
	return inst.Executable
}

func TestPythonTestsOfTheGuest(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), python(t), "-B", "-m", "unittest", "discover", "-s", "tests", "-p", filepath.Base(f))
			cmd.Env = append(os.Environ(), "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestEveryModuleIsEmbedded(t *testing.T) {
	found, err := filepath.Glob(guest.Package + "/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := guest.Files.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBothEndsOfTheBridgeAgree carries frames of many chunks each way between
// the host's codec and the guest's.
func TestBothEndsOfTheBridgeAgree(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	expect(t, conn, bridge.Hello, &bridge.HelloHead{})

	const size = 20 << 20
	big := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	send(t, conn, bridge.Arm, bridge.ArmHead{Files: []bridge.ArmFile{{Path: "in/big", Size: size}}}, big)
	var armed bridge.ArmedHead
	if expect(t, conn, bridge.Arm, &armed); armed.Error != "" {
		t.Fatal(armed.Error)
	}

	source := "import hashlib\n[hashlib.sha256(open('in/big', 'rb').read()).hexdigest(), text, 'é' * 100000]\n"
	source += "#" + string(bytes.Repeat([]byte(" é"), bridge.MaxChunk))
	send(t, conn, bridge.Analyse, bridge.AnalyseHead{Language: "python"}, []byte(source))
	var facts bridge.FactsHead
	if expect(t, conn, bridge.Facts, &facts); facts.Failure != nil {
		t.Fatalf("%+v", facts.Failure)
	}

	text, err := json.Marshal("\u2028\U0001f600\x00\"")
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, bridge.Run, bridge.RunHead{Variables: map[string]json.RawMessage{"text": text}}, nil)
	var result bridge.ResultHead
	expect(t, conn, bridge.Result, &result)
	var value []string
	if err := json.Unmarshal(result.Value, &value); err != nil {
		t.Fatalf("value %.100s: %v", result.Value, err)
	}
	sum := sha256.Sum256(big)
	if value[0] != hex.EncodeToString(sum[:]) || value[1] != "\u2028\U0001f600\x00\"" || len(value[2]) != 200_000 {
		t.Errorf("got %q, %q and %d bytes", value[0], value[1], len(value[2]))
	}
}

// serve starts the guest's loop over a socket pair, without a sandbox.
func serve(t *testing.T) bridge.Conn {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("import sys; sys.path.insert(0, %q); from gearbox_guest import loop; loop.serve(3, 3, lambda head: None, %q, [])", here, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, python(t), "-I", "-S", "-B", "-c", code)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	conn := bridge.New(ours)
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
		_ = conn.Close()
	})
	return conn
}

func send(t *testing.T, conn bridge.Conn, kind bridge.Kind, head any, body []byte) {
	t.Helper()
	f, err := bridge.NewFrame(kind, 3, head, body)
	if err == nil {
		err = conn.WriteFrame(f)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, conn bridge.Conn, kind bridge.Kind, head any) {
	t.Helper()
	f, err := conn.ReadFrame()
	if err == nil && f.Kind != kind {
		err = fmt.Errorf("a frame of kind %d instead of %d", f.Kind, kind)
	}
	if err == nil {
		err = json.Unmarshal(f.Head, head)
	}
	if err != nil {
		t.Fatal(err)
	}
}
