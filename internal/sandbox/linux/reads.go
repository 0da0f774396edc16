//go:build linux && (amd64 || arm64)

package linux

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// below ends the entry of a whole directory in a shape's reads.
const below = "/**"

// OwnPlaces are those of every sandbox: nothing of the host may stand in for them.
func OwnPlaces() []string {
	return []string{"/dev", "/proc", "/sys", "/tmp", workspace, guestRoot, pythonRoot}
}

// addReads shows what the gear lets every run read of the host, at its own path.
// A file is mounted as it is. A directory is shown through an overlay: in a plain
// read-only view a socket or a FIFO would still reach whoever listens on the host.
// What does not exist is absent inside as well.
func (p *plan) addReads(list string) error {
	for entry := range strings.SplitSeq(list, "\n") {
		if entry == "" {
			continue
		}
		target, whole := strings.CutSuffix(entry, below)
		if !path.IsAbs(target) || path.Clean(target) != target || target == "/" {
			return fmt.Errorf("cannot show %q in the sandbox: not a path below /", entry)
		}
		if slices.ContainsFunc(OwnPlaces(), func(own string) bool { return target == own || strings.HasPrefix(target, own+"/") }) {
			continue // the sandbox has its own, which needs no grant
		}
		source, err := filepath.EvalSymlinks(target)
		if err != nil {
			continue
		}
		st, err := os.Stat(source)
		switch {
		case err != nil:
		case whole && st.IsDir():
			p.Mounts = append(p.Mounts, bind{Source: source, Target: target, Overlaid: true})
		case !whole && st.Mode().IsRegular():
			p.Mounts = append(p.Mounts, bind{Source: source, Target: target})
		}
	}
	return nil
}
