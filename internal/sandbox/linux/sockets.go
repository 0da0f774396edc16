//go:build linux && (amd64 || arm64)

package linux

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// What a program writes into a socket that nobody reads is memory of the kernel,
// which no process's account shows. The filter keeps every socket at the default
// size of its buffer, so that their number bounds it.

// defaultSocketRoom is the kernel's own default for net.core.wmem_default.
const defaultSocketRoom = 212_992

// socketRoom is what one socket can hold.
func socketRoom() execution.Bytes {
	text, err := os.ReadFile("/proc/sys/net/core/wmem_default")
	if err != nil {
		return defaultSocketRoom
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return defaultSocketRoom
	}
	return execution.Bytes(n)
}

// mayHold bounds what the tree's sockets hold. The sizes of the descriptor tables,
// which are cheap to read, decide whether to count: ordinary trees are far below.
func (x *watch) mayHold(pids []int, tables int) execution.Bytes {
	if execution.Bytes(tables)*x.socketRoom <= x.memory/countSocketsFrom {
		return 0
	}
	seen := map[string]bool{}
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if target, _ := os.Readlink(dir + "/" + e.Name()); strings.HasPrefix(target, "socket:") {
				seen[target] = true
			}
		}
	}
	return execution.Bytes(len(seen)) * x.socketRoom
}

// countSocketsFrom is the part of the memory limit that the descriptor tables must
// be able to hold before the sockets in them are counted.
const countSocketsFrom = 4
