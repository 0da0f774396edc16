package upstream

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// refusing is a launcher on a machine without sandboxes.
type refusing struct{}

func (refusing) Launch(context.Context, Spec) (Launched, error) {
	return Launched{}, errors.New("this machine has no walls")
}

func TestAServerThatIsToRunInASandboxIsStartedNowhereElse(t *testing.T) {
	for want, launcher := range map[string]Launcher{"there is none here": nil, "this machine has no walls": refusing{}} {
		s := spec(t, "boxed", "stubborn") // which leaves a file when it starts
		s.Sandbox = &Sandbox{}
		f := fleetOf(t, Options{Launcher: launcher}, s)
		_, err := f.Server(bounded(t), "boxed")
		var failed *UnavailableError
		if !errors.As(err, &failed) || failed.State != Failed || !strings.Contains(failed.Reason, want) {
			t.Errorf("%v", err)
		}
		if left, err := filepath.Glob(filepath.Join(s.Dir, "*")); err != nil || len(left) > 0 {
			t.Errorf("it was started: %v, %v", left, err)
		}
	}
}
