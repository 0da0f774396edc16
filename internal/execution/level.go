package execution

import (
	"fmt"
	"slices"
	"strings"
)

// Level is how strong the wall around a run is.
type Level string

// The levels, weakest first.
const (
	LevelNone      Level = "none"
	LevelNoUserns  Level = "no-userns"
	LevelNoProc    Level = "no-proc"
	LevelContainer Level = "container"
	LevelWasm      Level = "wasm"
	LevelFull      Level = "full"
	LevelGVisor    Level = "gvisor"
	LevelMicroVM   Level = "microvm"
)

// Levels lists every level, weakest first.
func Levels() []Level {
	return []Level{LevelNone, LevelNoUserns, LevelNoProc, LevelContainer, LevelWasm, LevelFull, LevelGVisor, LevelMicroVM}
}

// ParseLevel reads the name of a level.
func ParseLevel(s string) (Level, error) {
	l := Level(strings.ToLower(strings.TrimSpace(s)))
	if !slices.Contains(Levels(), l) {
		names := make([]string, 0, len(Levels()))
		for _, l := range Levels() {
			names = append(names, string(l))
		}
		return "", fmt.Errorf("unknown isolation level %q: use one of %s", s, strings.Join(names, ", "))
	}
	return l, nil
}

// AtLeast reports whether l is as strong as least. An unknown level is weaker
// than every known one.
func (l Level) AtLeast(least Level) bool {
	return slices.Index(Levels(), l) >= slices.Index(Levels(), least) && slices.Contains(Levels(), l)
}
