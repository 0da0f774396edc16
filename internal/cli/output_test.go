package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// brokenStream fails to write, always for the same reason.
type brokenStream struct{ err error }

func (b brokenStream) Write([]byte) (int, error) { return 0, b.err }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--help"}, {"gear", "list"}, {"gear", "show", "restricted"}, {"gear", "explain", "read_only", "-c", "1"}} {
		var errs bytes.Buffer
		code := Main(context.Background(), Streams{In: strings.NewReader(""), Out: brokenStream{syscall.ENOSPC}, Err: &errs}, args)
		if code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}

func TestReaderThatWentAwayIsNoFailure(t *testing.T) {
	var errs bytes.Buffer
	code := Main(context.Background(), Streams{In: strings.NewReader(""), Out: brokenStream{syscall.EPIPE}, Err: &errs}, []string{"gear", "show", "restricted"})
	if code != 0 || errs.Len() != 0 {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

func TestFirstFailureOfEachStreamIsTold(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	out := &checked{Writer: brokenStream{first}}
	s := Streams{Out: out, Err: &checked{Writer: brokenStream{second}}}
	if s.lost() != nil {
		t.Error("lost before anything was written")
	}
	a := &app{Streams: s}
	a.printf("x")
	out.Writer = brokenStream{second}
	a.printf("x")
	if err := s.lost(); !errors.Is(err, first) || errors.Is(err, second) || !strings.Contains(err.Error(), "standard output") {
		t.Errorf("%v", err)
	}
	a.sayf("x")
	if err := s.lost(); !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("%v", err)
	}
}

func TestDetailsOfAFailureAreShownOnlyWhenGearboxItselfFailed(t *testing.T) {
	for status, want := range map[execution.Status]string{
		execution.StatusInternalError: "gearbox: details: msg=broken operation_id=op_1\n  hint: gearbox doctor tells what this machine lacks\n",
		execution.StatusRejected:      "",
		execution.StatusError:         "",
	} {
		var held heldLog
		held.logger().Error("broken", "operation_id", "op_1")
		held.logger().Info("routine")
		var errs bytes.Buffer
		(&app{Streams: Streams{Err: &errs}}).details(execution.Result{Status: status}, held.String())
		if errs.String() != want {
			t.Errorf("%s: %q", status, errs.String())
		}
	}
}
