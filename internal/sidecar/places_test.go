package sidecar

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/gear"
)

func TestWithoutBashOnTheMachineOnlyBashIsUnavailable(t *testing.T) {
	i := slices.IndexFunc(gear.Builtin(), func(g gear.Gear) bool { return g.Name == gear.Default })
	frozen, err := gear.Freeze(gear.Builtin()[i], nil, nil, gear.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	p := &places{shell: false}
	var rejected *execution.RejectedError
	if _, err := p.Place(t.Context(), execution.Local, frozen, execution.Bash); !errors.As(err, &rejected) ||
		rejected.Code != execution.CodeUnavailable || !strings.Contains(rejected.Message, "apt-get install bash") {
		t.Errorf("error %v", err)
	}
	if got := p.languages(frozen); !slices.Equal(got, []execution.Language{execution.Python}) {
		t.Errorf("languages %v", got)
	}
}
