package shell_test

import (
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/analysis/shell"
)

func TestVariablesThatChangeTheShellAreReported(t *testing.T) {
	for _, name := range []string{"BASH_ENV", "PATH", "LD_PRELOAD", "SHELLOPTS"} {
		facts := shell.Variables([]string{"data", name})
		if len(facts) != 1 || facts[0].Kind != "unsafe" || facts[0].Target != "environment" || facts[0].Via != name {
			t.Errorf("%s: %+v", name, facts)
		}
	}
	if facts := shell.Variables([]string{"data", "BASH", "PATHS"}); facts != nil {
		t.Errorf("%+v", facts)
	}
}
