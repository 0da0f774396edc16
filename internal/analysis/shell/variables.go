package shell

import (
	"slices"

	"github.com/gearbox-mcp/gearbox/internal/bridge"
	"github.com/gearbox-mcp/gearbox/internal/policy"
)

// Variables says that one of the variables that a program is started with changes
// what its commands mean, as an assignment in the source would: BASH_ENV names code
// that runs before the source. It has no place in the source.
func Variables(names []string) []bridge.Fact {
	names = slices.Sorted(slices.Values(names))
	if i := slices.IndexFunc(names, changesMeaning); i >= 0 {
		return []bridge.Fact{{Kind: string(policy.Unsafe), Target: environment, Via: names[i]}}
	}
	return nil
}

func changesMeaning(name string) bool { return changesCommands(name) || namesCommand(name) }
