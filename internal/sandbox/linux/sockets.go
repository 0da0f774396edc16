//go:build linux && (amd64 || arm64)

package linux

import (
	"bytes"
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

// mayHold bounds what the tree's sockets hold. Few sockets count as nothing: what they
// may hold is far below the limit, and mostly they are empty.
func (x *watch) mayHold(pids []int, tables int) execution.Bytes {
	n := 0
	switch {
	case x.ownNetwork:
		n = socketsOfNamespace(x.cell)
	case execution.Bytes(tables)*x.socketRoom > x.memory/countSocketsFrom:
		n = socketsOfTables(pids)
	}
	if held := execution.Bytes(n) * x.socketRoom; held > x.memory/countSocketsFrom {
		return held
	}
	return 0
}

// countSocketsFrom is the part of the memory limit from which sockets count.
const countSocketsFrom = 4

// socketsOfNamespace counts every socket of a child's own network namespace, also
// those that no descriptor stands for: connections that were not accepted, and sockets
// on their way through another one.
func socketsOfNamespace(cell int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", cell))
	return max(bytes.Count(text, []byte{'\n'})-1, 0) // the first line is a heading
}

// socketsOfTables counts those that descriptors stand for, where the namespace is the
// host's. Sockets there are pairs alone, which nobody has to accept.
func socketsOfTables(pids []int) int {
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
	return len(seen)
}
