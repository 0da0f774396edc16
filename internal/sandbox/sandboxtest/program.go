package sandboxtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

var programTests = []test{
	{"LastExpressionIsTheValue", lastExpressionIsTheValue},
	{"FactsNameTheImports", factsNameTheImports},
	{"SourceThatDoesNotParseSaysWhy", sourceThatDoesNotParseSaysWhy},
	{"UncaughtExceptionIsReported", uncaughtExceptionIsReported},
	{"VariablesAreGlobals", variablesAreGlobals},
	{"FilesAndEnvironmentArriveWithArm", filesAndEnvironmentArriveWithArm},
	{"FileThatLeadsOutIsRefused", fileThatLeadsOutIsRefused},
	{"OpenFileLimitReachesTheProgram", openFileLimitReachesTheProgram},
	{"MemoryLimitHolds", memoryLimitHolds},
	{"NarrowingOfProcessesHoldsOrIsRefused", narrowingOfProcesses},
	{"WarmChildShowsNoTrace", warmChildShowsNoTrace},
}

func lastExpressionIsTheValue(t *testing.T, s *suite) {
	out := s.finish(t, Program{Code: "x = 20\nx + 1"})
	if got := string(out.Result.Value); got != "21" || out.Result.ValueType != "int" {
		t.Errorf("value %s of type %s", got, out.Result.ValueType)
	}
	if out.Result.Outcome != bridge.OutcomeOK || out.Result.ExitCode != 0 || out.Ended.Cause != sandbox.CauseFinished {
		t.Errorf("outcome %s, exit code %d, cause %s", out.Result.Outcome, out.Result.ExitCode, out.Ended.Cause)
	}
}

func factsNameTheImports(t *testing.T, s *suite) {
	facts, err := Analyse(s.start(t).Bridge(), "x = 1; import json")
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(facts.Facts, func(f bridge.Fact) bool {
		return f.Kind == "import" && f.Target == "json" && f.Line == 1 && f.Column == 8
	})
	if !found || facts.Failure != nil {
		t.Errorf("facts %+v", facts)
	}
}

func sourceThatDoesNotParseSaysWhy(t *testing.T, s *suite) {
	for _, code := range []string{"x = = 1", "return 3"} {
		out := s.drive(t, Program{Code: code})
		if f := out.Facts.Failure; f == nil || f.Class != "SyntaxError" || f.Line != 1 || !strings.Contains(f.Text, code) {
			t.Errorf("%q: failure %+v", code, f)
		}
	}
}

func uncaughtExceptionIsReported(t *testing.T, s *suite) {
	out := s.finish(t, Program{Code: "print('before')\n1 / 0"})
	e := out.Result.Exception
	if out.Result.Outcome != bridge.OutcomeException || e == nil {
		t.Fatalf("result %+v", out.Result)
	}
	if e.Class != "ZeroDivisionError" || e.Line != 2 || out.Result.ExitCode != 1 {
		t.Errorf("exception %+v, exit code %d", e, out.Result.ExitCode)
	}
	if e.Text != out.Stderr || out.Stdout != "before\n" {
		t.Errorf("stdout %q, stderr %q, text %q", out.Stdout, out.Stderr, e.Text)
	}
}

func variablesAreGlobals(t *testing.T, s *suite) {
	out := s.finish(t, Program{
		Code:      "[n + 1, names['a'], flag, text]",
		Variables: map[string]any{"n": 41, "names": map[string]any{"a": nil}, "flag": true, "text": "é"},
	})
	if got := string(out.Result.Value); got != `[42,null,true,"é"]` {
		t.Errorf("value %s", got)
	}
}

func filesAndEnvironmentArriveWithArm(t *testing.T, s *suite) {
	out := s.finish(t, Program{
		Code: "import os\n[open('in/data.txt').read(), open('empty').read(), os.environ['GREETING'], sorted(os.listdir())]",
		Arm: sandbox.Arm{
			Environment: map[string]string{"GREETING": "héllo"},
			Files:       []execution.File{{Path: "in/data.txt", Data: []byte("12\n")}, {Path: "empty"}},
		},
	})
	if got := string(out.Result.Value); got != `["12\n","","héllo",["empty","in"]]` {
		t.Errorf("value %s, exception %+v", got, out.Result.Exception)
	}
}

func fileThatLeadsOutIsRefused(t *testing.T, s *suite) {
	for _, path := range []string{"../out", "/tmp/out", "a/../../out", "", "a//b"} {
		err := s.start(t).Arm(bounded(t), sandbox.Arm{Files: []execution.File{{Path: path, Data: []byte("x")}}})
		if err == nil {
			t.Errorf("path %q was accepted", path)
		}
	}
}

func openFileLimitReachesTheProgram(t *testing.T, s *suite) {
	out := s.finish(t, Program{
		Code: "import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)[0]",
		Arm:  sandbox.Arm{Limits: execution.Limits{OpenFiles: 61}},
	})
	if got := string(out.Result.Value); got != "61" {
		t.Errorf("limit %s, exception %+v", got, out.Result.Exception)
	}
}

// memoryLimitHolds leaves open how the program meets the limit: as a MemoryError
// or by being killed.
func memoryLimitHolds(t *testing.T, s *suite) {
	out := s.drive(t, Program{
		Code: "x = bytearray(1 << 30)\nx[::4096] = b'1' * len(x[::4096])",
		Arm:  sandbox.Arm{Limits: execution.Limits{Memory: 300 * execution.MiB}},
	})
	if r := out.Result; r != nil && (r.Exception == nil || r.Exception.Class != "MemoryError") {
		t.Errorf("result %+v, exception %+v", r, r.Exception)
	}
}

func narrowingOfProcesses(t *testing.T, s *suite) {
	arm := sandbox.Arm{NoFork: true, NoExec: true}
	if !s.NarrowsProcesses {
		if err := s.start(t).Arm(bounded(t), arm); err == nil {
			t.Error("a restriction that cannot be carried out was accepted")
		}
		return
	}
	out := s.finish(t, Program{Code: program("narrowed.py"), Arm: arm})
	if got := string(out.Result.Value); got != `["refused","refused","thread"]` {
		t.Errorf("value %s, exception %+v", got, out.Result.Exception)
	}
}

func warmChildShowsNoTrace(t *testing.T, s *suite) {
	child, err := s.source.Start(bounded(t), true)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Drive(bounded(t), child, Program{Code: program("trace.py")})
	if err != nil || out.Result == nil {
		t.Fatalf("error %v, outcome %+v", err, out)
	}
	if got := string(out.Result.Value); got != `[["linecache","os","sys"],[],["<cell>"],[""]]` {
		t.Errorf("value %s, exception %+v", got, out.Result.Exception)
	}
	if out.Stdout != "" || out.Stderr != "" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}
