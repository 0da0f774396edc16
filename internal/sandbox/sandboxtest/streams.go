package sandboxtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
)

var streamTests = []test{
	{"OutputAndErrorsStaySeparate", outputAndErrorsStaySeparate},
	{"StdinIsReadToItsEnd", stdinIsReadToItsEnd},
	{"BigOutputFlows", bigOutputFlows},
	{"BytesThatAreNotTextPassUnchanged", bytesPassUnchanged},
	{"EndlessOutputLastsUntilTheKill", endlessOutput},
	{"ManyChildrenAtOnceDoNotMix", manyChildrenDoNotMix},
}

func outputAndErrorsStaySeparate(t *testing.T, s *suite) {
	out := s.finish(t, Program{Code: "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('end', end='')"})
	if out.Stdout != "out\nend" || out.Stderr != "err\n" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
	if out.Result.Value != nil || out.Result.ValueType != "" {
		t.Errorf("None is a value: %s of type %s", out.Result.Value, out.Result.ValueType)
	}
}

func stdinIsReadToItsEnd(t *testing.T, s *suite) {
	code := "import sys\nfirst, rest = input(), sys.stdin.read()\ntry:\n    input()\nexcept EOFError:\n    rest += '|end'\n[first, rest]"
	out := s.finish(t, Program{Code: code, Stdin: "één\ntwo\nthree"})
	if got := string(out.Result.Value); got != `["één","two\nthree|end"]` {
		t.Errorf("value %s, exception %+v", got, out.Result.Exception)
	}
}

func bigOutputFlows(t *testing.T, s *suite) {
	const size = 50_000_000
	var n counter
	out := s.finish(t, Program{Code: fmt.Sprintf("print('x' * %d, end='')\n'done'", size), Stdout: &n})
	if n != size || string(out.Result.Value) != `"done"` {
		t.Errorf("%d bytes, value %s", n, out.Result.Value)
	}
}

func bytesPassUnchanged(t *testing.T, s *suite) {
	out := s.finish(t, Program{Code: `import sys
sys.stdout.buffer.write(b"ok\xff\xfe\x00\xed\xa0\x80")
sys.stdout.flush()
print("\ud800 \U0001f600")
"lone \ud800"`})
	if want := "ok\xff\xfe\x00\xed\xa0\x80" + `\ud800` + " \U0001f600\n"; out.Stdout != want {
		t.Errorf("stdout %q", out.Stdout)
	}
	if got := string(out.Result.Value); got != "\"lone \ufffd\"" {
		t.Errorf("value %s", got)
	}
}

// endlessOutput kills from the reader's side, as whoever counts the output does.
func endlessOutput(t *testing.T, s *suite) {
	child := s.start(t)
	stop := &killAfter{kill: func() { child.Kill("output") }, left: 4 << 20}
	out, err := Drive(bounded(t), child, Program{Code: "while True: print('1234567890' * 100)", Stdout: stop})
	if err != nil {
		t.Fatal(err)
	}
	if out.Result != nil || out.Ended.Cause != "output" {
		t.Errorf("result %+v, ended %+v", out.Result, out.Ended)
	}
}

func manyChildrenDoNotMix(t *testing.T, s *suite) {
	const children = 16
	var wg sync.WaitGroup
	for i := range children {
		wg.Go(func() {
			child, err := s.source.Start(t.Context(), false)
			if err != nil {
				t.Error(err)
				return
			}
			out, err := Drive(t.Context(), child, Program{
				Code:      "open('same.txt', 'w').write(str(me))\nfor _ in range(1000): print(me)\nint(open('same.txt').read())",
				Variables: map[string]any{"me": i},
			})
			if err != nil || out.Result == nil {
				t.Errorf("child %d: error %v, outcome %+v", i, err, out)
				return
			}
			if got := string(out.Result.Value); got != fmt.Sprint(i) || out.Result.Outcome != bridge.OutcomeOK {
				t.Errorf("child %d answered %s", i, got)
			}
			if out.Stdout != strings.Repeat(fmt.Sprintln(i), 1000) {
				t.Errorf("child %d printed something else: %.80q", i, out.Stdout)
			}
		})
	}
	wg.Wait()
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

type killAfter struct {
	kill func()
	left int
}

func (k *killAfter) Write(b []byte) (int, error) {
	if k.left -= len(b); k.left < 0 {
		k.kill()
	}
	return len(b), nil
}
