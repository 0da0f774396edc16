//go:build unix

package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestAProgramsOutputValueAndUsageAreAnswered(t *testing.T) {
	b := newBench(t, benchConfig{})
	r := b.run(execution.Request{Code: "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6*7"})
	if r.Status != execution.StatusOK || r.ExitCode != 0 || r.Stdout != "out\n" || r.Stderr != "err\n" {
		t.Fatalf("%+v", r)
	}
	if string(r.Value) != "42" || r.ValueType != "int" || r.DurationMS <= 0 || r.OperationID == "" {
		t.Fatalf("%+v", r)
	}
}

func TestTheRecordTellsTheWholeLife(t *testing.T) {
	b := newBench(t, benchConfig{})
	b.run(execution.Request{Code: "import json"})
	want := []audit.Type{audit.Requested, audit.Decided, audit.Started, audit.Finished}
	got := b.events.types()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestHowAProgramEndsDecidesTheStatus(t *testing.T) {
	b := newBench(t, benchConfig{})
	for name, c := range map[string]struct {
		code   string
		status execution.Status
		exit   int
		error  string
		signal string
	}{
		"end":           {"pass", execution.StatusOK, 0, "", ""},
		"exit zero":     {"import sys; sys.exit(0)", execution.StatusOK, 0, "", ""},
		"exit code":     {"import sys; sys.exit(3)", execution.StatusError, 3, "SystemExit", ""},
		"exit text":     {"import sys; sys.exit('no')", execution.StatusError, 1, "SystemExit", ""},
		"hard exit":     {"import os; os._exit(7)", execution.StatusError, 7, "SystemExit", ""},
		"hard exit 0":   {"import os; os._exit(0)", execution.StatusOK, 0, "", ""},
		"exception":     {"1/0", execution.StatusError, 1, "ZeroDivisionError", ""},
		"syntax error":  {"print(", execution.StatusError, 1, "SyntaxError", ""},
		"interrupt":     {"raise KeyboardInterrupt", execution.StatusError, 130, "KeyboardInterrupt", ""},
		"kill":          {"import os; os.kill(os.getpid(), 9)", execution.StatusError, 137, "SIGKILL", "SIGKILL"},
		"abort":         {"import os; os.abort()", execution.StatusError, 134, "SIGABRT", "SIGABRT"},
		"out of memory": {"raise MemoryError", execution.StatusMemoryLimit, 1, "MEMORY_LIMIT", ""},
		"no space":      {"raise OSError(28, 'No space left on device')", execution.StatusDiskLimit, 1, "DISK_LIMIT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.run(execution.Request{Code: c.code})
			code := ""
			if r.Error != nil {
				code = r.Error.Code
			}
			if r.Status != c.status || r.ExitCode != c.exit || code != c.error || r.Signal != c.signal {
				t.Fatalf("status %s, exit %d, error %q, signal %q, stderr %q", r.Status, r.ExitCode, code, r.Signal, r.Stderr)
			}
			if r.ExitCode == -1 && strings.TrimSpace(r.Stderr) == "" {
				t.Fatal("it did not end by itself and nobody says why")
			}
		})
	}
}

func TestATimeoutKeepsWhatWasPrinted(t *testing.T) {
	b := newBench(t, benchConfig{clock: &handClock{}})
	id := b.submit(execution.Request{Code: "print('before')\nimport time\ntime.sleep(600)", Timeout: 7 * time.Second})
	b.until(id, func(r execution.Result) bool { return r.Stdout == "before\n" })
	b.hand().fire(7 * time.Second)
	r := b.wait(id)
	if r.Status != execution.StatusTimeout || r.ExitCode != -1 || r.Stdout != "before\n" || r.Stderr != "Execution timed out after 7 seconds." {
		t.Fatalf("%+v", r)
	}
}

func TestAProgramThatClosesTheBridgeIsStillTimed(t *testing.T) {
	b := newBench(t, benchConfig{})
	r := b.run(execution.Request{Code: "import os\nos.closerange(3, 4096)\nwhile True: pass", Timeout: time.Second})
	if r.Status != execution.StatusTimeout {
		t.Fatalf("%+v", r)
	}
}

func TestACallThatOutlivesItsWaitAnswersRunning(t *testing.T) {
	b := newBench(t, benchConfig{})
	id := b.submit(execution.Request{Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second})
	r, err := b.engine.Wait(t.Context(), execution.Local, id, 0)
	if err != nil || r.Status != execution.StatusRunning || r.OperationID != id {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = b.engine.Cancel(t.Context(), execution.Local, id); err != nil || r.Status != execution.StatusCancelled || r.ExitCode != -1 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestEndlessOutputIsEndedAndKeptInPart(t *testing.T) {
	b := newBench(t, benchConfig{})
	r := b.run(execution.Request{Code: "while True: print('1234567890' * 100)", Timeout: 300 * time.Second})
	if r.Status != execution.StatusOutputLimit || !strings.HasPrefix(r.Stdout, "1234567890") {
		t.Fatalf("status %s, %d bytes", r.Status, len(r.Stdout))
	}
	if tr := r.Truncated["stdout"]; tr.TotalBytes < 64<<20 || tr.KeptBytes > 256<<10 {
		t.Fatalf("%+v", tr)
	}
}

func TestADeniedProgramNeverRuns(t *testing.T) {
	b := newBench(t, benchConfig{gear: "restricted"})
	r := b.run(execution.Request{Code: "x = 1\nimport subprocess\nprint('ran')"})
	if r.Status != execution.StatusDenied || r.ExitCode != -1 || r.Stdout != "" {
		t.Fatalf("%+v", r)
	}
	v := r.Error.Violations[0]
	if r.Error.Code != "POLICY_VIOLATION" || v.Line != 2 || v.Permission != "import(subprocess)" || v.Source != "import subprocess" || v.Hint == "" || v.Allow == "" {
		t.Fatalf("%+v", r.Error)
	}
	for _, e := range b.events.types() {
		if e == audit.Started {
			t.Fatal("user code was started")
		}
	}
}

func TestSourceOverTheGearsLimitsIsDeniedWithoutASandbox(t *testing.T) {
	b := newBench(t, benchConfig{gear: "restricted"})
	for name, code := range map[string]string{
		"characters": "x = '" + strings.Repeat("é", 8001) + "'",
		"lines":      strings.Repeat("pass\n", 401),
	} {
		r := b.run(execution.Request{Code: code})
		if r.Status != execution.StatusDenied || r.Error.Code != "POLICY_VIOLATION" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := b.children.started.Load(); n != 0 {
		t.Errorf("%d children were started", n)
	}
}

func TestAGearThatIsOffDeniesWithoutASandbox(t *testing.T) {
	b := newBench(t, benchConfig{gear: "read_only"})
	r := b.run(execution.Request{Code: "print(1)"})
	if r.Status != execution.StatusDenied || b.children.started.Load() != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestNothingRunsWhenTheDecisionOrTheStartCannotBeRecorded(t *testing.T) {
	for _, what := range []audit.Type{audit.Decided, audit.Started} {
		b := newBench(t, benchConfig{})
		b.events.failOn(what)
		// Where the decision is still to be recorded the end cannot be either.
		r := b.until(b.submit(execution.Request{Code: "import json\nprint('ran')"}), func(r execution.Result) bool { return r.Status.Final() || isUnrecorded(r) })
		if r.Status != execution.StatusInternalError && !isUnrecorded(r) || r.Stdout != "" {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func TestAnEndThatCannotBeRecordedIsNotTold(t *testing.T) {
	b := newBench(t, benchConfig{})
	b.events.failOn(audit.Finished)
	id := b.submit(execution.Request{Code: "print('secret')"})
	r := b.until(id, isUnrecorded)
	if r.Status != execution.StatusRunning || r.Stdout != "" || r.Stderr != "" {
		t.Fatalf("%+v", r)
	}
	// There is nothing to cancel any more, and what became of it is not told either.
	if r, err := b.engine.Cancel(t.Context(), execution.Local, id); err != nil || !isUnrecorded(r) || r.Stdout != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnEndThatCouldNotBeRecordedIsToldOnceItCanBe(t *testing.T) {
	b := newBench(t, benchConfig{clock: &handClock{}})
	b.events.failOn(audit.Finished)
	id := b.submit(execution.Request{Code: "print('kept')"})
	for {
		// The clock stands, so that a wait of no time is the only one that ends.
		r, err := b.engine.Wait(cancelled(t), execution.Local, id, time.Hour)
		if err != nil || r.Status != execution.StatusRunning {
			t.Fatalf("%+v, %v", r, err)
		}
		if isUnrecorded(r) {
			break
		}
	}
	waited := make(chan execution.Result)
	go func() {
		r, err := b.engine.Wait(t.Context(), execution.Local, id, time.Hour)
		if err != nil {
			t.Error(err)
		}
		waited <- r
	}()
	b.events.failOn("")
	var got execution.Result
	b.hand().fireUntil(time.Second, func() bool {
		select {
		case got = <-waited:
			return true
		default:
			return false
		}
	})
	if got.Status != execution.StatusOK || got.Stdout != "kept\n" {
		t.Errorf("%+v", got)
	}
}

// isUnrecorded reports whether an answer says that the end is not recorded yet.
func isUnrecorded(r execution.Result) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "could not be recorded yet") })
}

// cancelled is the context of somebody who does not wait.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestClosingDoesNotWaitForAnEndThatCannotBeRecorded(t *testing.T) {
	b := newBench(t, benchConfig{clock: &handClock{}})
	b.events.failOn(audit.Finished)
	id := b.submit(execution.Request{Code: "1"})
	for {
		if r, err := b.engine.Wait(cancelled(t), execution.Local, id, 0); err != nil || isUnrecorded(r) {
			break
		}
	}
	waited := make(chan execution.Result)
	go func() {
		r, _ := b.engine.Wait(t.Context(), execution.Local, id, time.Hour)
		waited <- r
	}()
	b.engine.Close()
	if r := <-waited; !isUnrecorded(r) {
		t.Errorf("%+v", r)
	}
}

func TestARequestThatCannotBeRecordedIsNotTaken(t *testing.T) {
	b := newBench(t, benchConfig{})
	b.events.failOn(audit.Requested)
	_, err := b.engine.Submit(t.Context(), execution.Request{Principal: execution.Local, Code: "1", Language: execution.Python})
	var rejected *execution.RejectedError
	if !errors.As(err, &rejected) || rejected.Code != execution.CodeUnavailable || !strings.Contains(rejected.Message, "no paper is left") {
		t.Fatalf("%v", err)
	}
	b.engine.Close() // must not wait for the request that was not taken
}

func TestAFullQueueRefusesWithATimeToRetry(t *testing.T) {
	b := newBench(t, benchConfig{turns: 1, queue: 2})
	long := execution.Request{Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second}
	b.submit(long)
	b.submit(long)
	long.Principal, long.Language = execution.Local, execution.Python
	_, err := b.engine.Submit(t.Context(), long)
	var rejected *execution.RejectedError
	if !errors.As(err, &rejected) || rejected.Code != execution.CodeUnavailable || rejected.RetryAfter <= 0 {
		t.Fatalf("%v", err)
	}
	long.Principal = "another"
	if _, err := b.engine.Submit(t.Context(), long); err != nil {
		t.Errorf("one principal has filled the queue for another: %v", err)
	}
}

func TestAPrincipalThatFloodsTheQueueLeavesOthersTheirShare(t *testing.T) {
	b := newBench(t, benchConfig{turns: 1, queue: 12})
	// taken is how many of as many operations as are twice the queue are taken on.
	taken := func(p execution.Principal) (n int) {
		for range 24 {
			_, err := b.engine.Submit(t.Context(), execution.Request{
				Principal: p, Language: execution.Python, Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second,
			})
			var rejected *execution.RejectedError
			switch {
			case err == nil:
				n++
			case !errors.As(err, &rejected) || rejected.Code != execution.CodeUnavailable:
				t.Error(err)
			}
		}
		return n
	}
	for _, row := range []struct {
		principal execution.Principal
		want      int
	}{
		{"flood", 12}, // alone it may have all
		{"second", 4}, // of twelve by three
		{"flood", 0},
		{"third", 3}, // of twelve by four
		{"second", 0},
		{"fourth", 2}, // of twelve by five
	} {
		if got := taken(row.principal); got != row.want {
			t.Errorf("%s: %d taken on, not %d", row.principal, got, row.want)
		}
	}
}

func TestALargerQueueTakesOnAtOnceAndASmallerOneKeepsWhatWasTakenOn(t *testing.T) {
	b := newBench(t, benchConfig{turns: 1, queue: 1})
	long := execution.Request{Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second}
	first := b.submit(long)
	b.engine.SetQueue(2)
	second := b.submit(long)
	b.engine.SetQueue(1)
	long.Principal, long.Language = execution.Local, execution.Python
	var rejected *execution.RejectedError
	if _, err := b.engine.Submit(t.Context(), long); !errors.As(err, &rejected) || b.engine.Load().Queue != 1 {
		t.Errorf("%v, %+v", err, b.engine.Load())
	}
	for _, id := range []execution.ID{second, first} {
		if r, err := b.engine.Cancel(t.Context(), execution.Local, id); err != nil || r.Status != execution.StatusCancelled {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestTheLoadTellsWhoRunsAndWhoWaits(t *testing.T) {
	b := newBench(t, benchConfig{turns: 1, queue: 8})
	long := execution.Request{Code: "print('begun')\nimport time\ntime.sleep(600)", Timeout: 300 * time.Second}
	first := b.submit(long)
	b.until(first, func(r execution.Result) bool { return r.Stdout == "begun\n" })
	second := b.submit(long)
	for b.engine.Load().Waiting == 0 { // it is taken on beside this
		runtime.Gosched()
	}
	if got, want := b.engine.Load(), (engine.Load{Running: 1, Waiting: 1, Queue: 8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, id := range []execution.ID{second, first} {
		if _, err := b.engine.Cancel(t.Context(), execution.Local, id); err != nil {
			t.Fatal(err)
		}
	}
	b.engine.Close()
	if got := b.engine.Load(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("after the end: %+v", got)
	}
}

func TestAWaitingOperationCanBeCancelled(t *testing.T) {
	b := newBench(t, benchConfig{turns: 1})
	long := execution.Request{Code: "import time\ntime.sleep(600)", Timeout: 300 * time.Second}
	b.submit(long)
	second := b.submit(long)
	r, err := b.engine.Cancel(t.Context(), execution.Local, second)
	if err != nil || r.Status != execution.StatusCancelled {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestAnUnknownOperationAndAnotherPrincipalsLookTheSame(t *testing.T) {
	b := newBench(t, benchConfig{})
	r := b.run(execution.Request{Code: "1"})
	for name, ask := range map[string]func() error{
		"foreign": func() error { _, err := b.engine.Wait(t.Context(), "eve", r.OperationID, 0); return err },
		"unknown": func() error { _, err := b.engine.Wait(t.Context(), "eve", execution.NewID(), 0); return err },
		"output": func() error {
			_, err := b.engine.Output(t.Context(), "eve", r.OperationID, "stdout", 0, 10)
			return err
		},
		"cancel": func() error { _, err := b.engine.Cancel(t.Context(), "eve", r.OperationID); return err },
	} {
		var rejected *execution.RejectedError
		if err := ask(); !errors.As(err, &rejected) || rejected.Code != execution.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOutputIsReadByOffsetWithoutSplittingCharacters(t *testing.T) {
	b := newBench(t, benchConfig{})
	r := b.run(execution.Request{Code: "print('aé漢🎉' * 3, end='')"})
	var got strings.Builder
	for offset := int64(0); ; {
		c, err := b.engine.Output(t.Context(), execution.Local, r.OperationID, "stdout", offset, 5)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(c.Data)
		offset = c.NextOffset
		if c.EOF {
			break
		}
	}
	if got.String() != strings.Repeat("aé漢🎉", 3) {
		t.Fatalf("%q", got.String())
	}
}

func TestTheMiddleOfALongOutputIsSkipped(t *testing.T) {
	b := newBench(t, benchConfig{})
	r := b.run(execution.Request{Code: "print('x' * 1_000_000, end='end')"})
	c, err := b.engine.Output(t.Context(), execution.Local, r.OperationID, "stdout", 500_000, 1<<20)
	if err != nil || c.Offset <= 500_000 || !strings.HasSuffix(c.Data, "end") || !c.EOF || c.NextOffset != 1_000_003 {
		t.Fatalf("offset %d next %d eof %v, %v", c.Offset, c.NextOffset, c.EOF, err)
	}
}

func TestCloseInterruptsWhatRuns(t *testing.T) {
	b := newBench(t, benchConfig{})
	id := b.submit(execution.Request{Code: "import time\nprint(1, flush=True)\ntime.sleep(600)", Timeout: 300 * time.Second})
	b.until(id, func(r execution.Result) bool { return r.Stdout != "" })
	b.engine.Close()
	r, err := b.engine.Wait(t.Context(), execution.Local, id, 0)
	if err != nil || r.Status != execution.StatusInterrupted || !strings.Contains(r.Stderr, "server was stopped") {
		t.Fatalf("nobody has cancelled it: %+v, %v", r, err)
	}
	_, err = b.engine.Submit(t.Context(), execution.Request{Principal: execution.Local, Code: "1", Language: execution.Python})
	var rejected *execution.RejectedError
	if !errors.As(err, &rejected) || rejected.Code != execution.CodeUnavailable {
		t.Fatalf("%v", err)
	}
}

func TestConcurrentRunsDoNotMix(t *testing.T) {
	b := newBench(t, benchConfig{})
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			want := string(execution.NewID())
			r := b.run(execution.Request{Code: "open('tmp.py','w').write('" + want + "')\nprint(open('tmp.py').read())"})
			if r.Stdout != want+"\n" {
				t.Errorf("got %q, want %q (%+v)", r.Stdout, want, r)
			}
		})
	}
	wg.Wait()
}

func TestPassingTheWorkOnDoesNotDependOnTheCaller(t *testing.T) {
	b := newBench(t, benchConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	id, err := b.engine.Submit(ctx, execution.Request{Principal: execution.Local, Code: "print('still here')", Language: execution.Python})
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if r := b.wait(id); r.Status != execution.StatusOK || r.Stdout != "still here\n" {
		t.Fatalf("%+v", r)
	}
}

func TestAnEngineWithoutAllItsPartsIsNotMade(t *testing.T) {
	if _, err := engine.New(engine.Config{Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Fatal("it was made")
	}
}
