//go:build linux

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/cpython/cpythontest"
)

// apart lists the kinds that have a test of their own, beside the tables: trouble
// that shows in what else the server does meanwhile.
func apart() []string { return []string{"14 STARVE", "18 CONC"} }

func server(t *testing.T) *client {
	t.Helper()
	c := connect(t, "--data-dir", cpythontest.DataDir(t))
	sandboxed(t, c)
	return c
}

// together runs many calls, at most width at a time, and waits for all.
func together(n, width int, run func(int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, width)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			run(i)
		})
	}
	all.Wait()
}

// 01 OUT-BIG: what an answer leaves out can be read, to the last byte.
func TestWhatAnAnswerLeavesOutCanBeRead(t *testing.T) {
	c := server(t)
	a := c.execute(t, call{Code: "for i in range(20_000): print(i, '€')"})
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "%d €\n", i)
	}
	all, shown := b.String(), strings.SplitN(a.Stdout, "\n[… ", 2)[0]
	if !strings.HasPrefix(all, shown) || len(shown) < 1_000 {
		t.Fatalf("the answer begins with %.100q", shown)
	}
	got := shown
	for offset, eof := len(shown), false; !eof; {
		raw, err := c.request("tools/call", map[string]any{"name": "get_operation", "arguments": map[string]any{
			"operation_id": a.OperationID, "stream": "stdout", "output_offset": offset,
		}})
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			StructuredContent struct {
				Data       string `json:"data"`
				NextOffset int    `json:"next_offset"`
				EOF        bool   `json:"eof"`
			} `json:"structuredContent"`
		}
		if err := json.Unmarshal(raw, &r); err != nil || r.StructuredContent.NextOffset <= offset && !r.StructuredContent.EOF {
			t.Fatalf("%v in %.300s", err, raw)
		}
		got += r.StructuredContent.Data
		offset, eof = r.StructuredContent.NextOffset, r.StructuredContent.EOF
	}
	if got != all {
		t.Errorf("read %d bytes that differ from the %d printed", len(got), len(all))
	}
}

// 02 OUT-INF: a flood costs the server no memory.
func TestEndlessOutputLeavesTheServersMemoryFlat(t *testing.T) {
	c := server(t)
	before := c.memory(t, "VmRSS")
	together(6, 3, func(int) {
		a := c.execute(t, call{Code: "while True: print('1234567890' * 1000)", Timeout: 60})
		if a.Status != "output_limit" || a.ExitCode != -1 || a.Truncated["stdout"].Total < 64<<20 {
			t.Errorf("a flood answers %.300s", a.raw)
		}
	})
	// Each flood printed more than 64 MiB.
	if peak := c.memory(t, "VmHWM"); peak > before+48<<20 {
		t.Errorf("the server grew from %d to %d bytes", before, peak)
	}
}

// memory reads a size of the server's process from the kernel.
func (c *client) memory(t *testing.T, field string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s in %s", field, b)
	return 0
}

// 04 OUT-LOCALE: on the command line too, with LANG=C.
func TestTheCommandLineCarriesEveryCharacterInAnyLocale(t *testing.T) {
	smile := "\U0001f600é"
	code := "import sys\nprint('" + smile + "', input(), file=sys.stderr)\n'" + smile + "'"
	cmd := exec.CommandContext(t.Context(), binary(t), "exec", "--data-dir", cpythontest.DataDir(t), "--stdin", "-", "--json", "-c", code)
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(smile)
	out, err := cmd.Output()
	var a answer
	if jsonErr := json.Unmarshal(out, &a); jsonErr != nil {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	if a.Error != nil && a.Error.Code == "UNAVAILABLE" {
		t.Skipf("skipped: no sandbox here: %s", a.Error.Message)
	}
	if a.Status != "ok" || a.Stderr != smile+" "+smile+"\n" || string(a.Value) != `"`+smile+`"` {
		t.Errorf("answers %s", out)
	}
}

// 08 OUT-ORDER, 09 EXIT: what a shell sees of a program is what the program did.
func TestTheCommandLineEndsAsTheProgramDid(t *testing.T) {
	sandboxed(t, connect(t, "--data-dir", cpythontest.DataDir(t)))
	for _, row := range []struct {
		name, code     string
		exit           int
		stdout, stderr string
	}{
		{"ok", "print('x', end='')\n5", 0, "x\n5\n", ""},
		{"exit code", "import sys\nsys.exit(3)", 3, "", ""},
		{"signal", "import os\nprint('x')\nos.kill(os.getpid(), 9)", 137, "x\n", "The program was ended by the signal SIGKILL."},
		{"timeout", "while True: pass", 124, "", "Execution timed out after 1 second."},
		{"memory", "b'x' * 10 ** 10", 122, "", "MemoryError"},
		{"terminal output as it is", "print('\\x1b[31mred\\r', end='\\n')", 0, "\x1b[31mred\r\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary(t), "exec", "--data-dir", cpythontest.DataDir(t), "--timeout", "1", "-c", row.code)
			cmd.Env = environment()
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			if err := cmd.Run(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if cmd.ProcessState.ExitCode() != row.exit || out.String() != row.stdout || !strings.Contains(errOut.String(), row.stderr) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d, %q, %q", cmd.ProcessState.ExitCode(), out.String(), errOut.String(), row.exit, row.stdout, row.stderr)
			}
		})
	}
}

// 12 FORKBOMB, 14 STARVE: whoever eats all there is of processes, processors and
// memory takes nothing from a neighbour, and its timeout holds.
func TestANeighbourIsServedBesideHogs(t *testing.T) {
	c := server(t)
	hogs := map[string]call{
		"forks":      {Code: "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)", Timeout: 3},
		"processors": {Code: "import os\nfor i in range(8):\n    if os.fork() == 0: break\nwhile True: pass", Timeout: 3},
		"memory":     {Code: "b = []\nwhile True:\n    try: b.append(bytearray(1 << 20))\n    except MemoryError: pass", Timeout: 3},
	}
	none := 0.0
	running := map[string]string{}
	for name, h := range hogs {
		h.Wait = &none
		a := c.execute(t, h)
		if a.Status != "running" || a.OperationID == "" {
			t.Fatalf("%s: started as %s", name, a.raw)
		}
		running[name] = a.OperationID
	}
	together(10, 2, func(i int) {
		if a := c.execute(t, call{Code: fmt.Sprintf("print(%d)", i)}); a.Status != "ok" || a.Stdout != fmt.Sprintf("%d\n", i) {
			t.Errorf("a neighbour is answered %s", a.raw)
		}
	})
	for name, id := range running {
		a := c.tool(t, "get_operation", map[string]any{"operation_id": id, "wait_seconds": 60})
		stopped := a.Status == "timeout" || name == "memory" && a.Status == "memory_limit"
		if !stopped || a.ExitCode != -1 || a.DurationMS > 10_000 {
			t.Errorf("%s: ended as %.500s", name, a.raw)
		}
	}
}

// 18 CONC: parallel runs that use the same names see each their own.
func TestParallelRunsDoNotMix(t *testing.T) {
	c := server(t)
	together(100, 4, func(i int) {
		code := fmt.Sprintf(`import os, subprocess
open('tmp.py', 'w').write('ID = %d')
open('/tmp/id', 'w').write('%d')
os.environ['ID'] = '%d'
import tmp
shell = subprocess.run('echo $ID; cat /tmp/id', shell=True, capture_output=True, text=True).stdout.split()
print(%d)
[tmp.ID, *shell, ID, len(os.listdir('.')), os.getpid()]`, i, i, i, i)
		a := c.execute(t, call{Code: code, Variables: map[string]any{"ID": i}, Files: []file{{Path: "data", Text: strconv.Itoa(i)}}, Timeout: 30})
		value := fmt.Sprintf(`[%d,"%d","%d",%d,2,`, i, i, i, i)
		if a.Status != "ok" || a.Stdout != fmt.Sprintf("%d\n", i) || a.Stderr != "" || !strings.HasPrefix(string(a.Value), value) {
			t.Errorf("run %d answers %.800s, want %s", i, a.raw, value)
		}
	})
}

// 18 CONC: a program that came with the call, or was just written, can be started
// at once, however many sandboxes are forked meanwhile (ETXTBSY).
func TestAFileJustWrittenRunsAtOnce(t *testing.T) {
	c := connect(t, "--data-dir", cpythontest.DataDir(t), "--allow", "run(*)")
	sandboxed(t, c)
	const code = `import os, subprocess
def run(p):
    os.chmod(p, 0o700)
    return int(subprocess.run([p], capture_output=True, text=True, check=True).stdout)
given = run('./given')
for i in range(10):
    with open(f'/tmp/{i}', 'w') as f: f.write(f'#!/bin/sh\necho {i}\n')
given + sum(run(f'/tmp/{i}') for i in range(10))`
	together(40, 4, func(i int) {
		script := file{Path: "given", Text: fmt.Sprintf("#!/bin/sh\necho %d\n", i)}
		a := c.execute(t, call{Code: code, Files: []file{script}, Timeout: 60})
		want{value: strconv.Itoa(i + 45), valueType: "int"}.check(t, a)
		if t.Failed() {
			t.Logf("run %d answers %.1500s", i, a.raw)
		}
	})
}
