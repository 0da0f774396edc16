package sidecar

import (
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestMinimumIsolationDependsOnTheWallAround(t *testing.T) {
	for name, c := range map[string]struct {
		asked     string
		container bool
		want      execution.Level
	}{
		"on a host":               {"", false, execution.LevelNoProc},
		"in a container":          {"", true, execution.LevelNoUserns},
		"asked for on a host":     {"no-userns", false, execution.LevelNoUserns},
		"asked for in containers": {"full", true, execution.LevelFull},
	} {
		got, err := Options{MinimumIsolation: c.asked}.minimumIsolation(c.container)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := (Options{MinimumIsolation: "strong"}).minimumIsolation(true); err == nil {
		t.Error("an unknown level was accepted")
	}
}

func TestWorkspaceIsNamedOnlyWhereItExists(t *testing.T) {
	for _, l := range execution.Levels() {
		if want := l != execution.LevelNone && l != execution.LevelNoUserns; hasWorkspace(l) != want {
			t.Errorf("level %s: %v", l, hasWorkspace(l))
		}
	}
}
