package execution

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size.
type Bytes int64

// The units, powers of 1024.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// String prints the size in the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range []struct {
		size Bytes
		name string
	}{{GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}} {
		if b >= u.size && b%u.size == 0 {
			return fmt.Sprintf("%d %s", b/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(b))
}

// ParseBytes reads "64 MiB", "512m", "100k", "1g" or a bare number of bytes.
// Every unit is a power of 1024.
func ParseBytes(s string) (Bytes, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	unit := Bytes(1)
	for _, u := range []struct {
		suffix string
		size   Bytes
	}{{"gib", GiB}, {"mib", MiB}, {"kib", KiB}, {"gb", GiB}, {"mb", MiB}, {"kb", KiB}, {"g", GiB}, {"m", MiB}, {"k", KiB}, {"b", 1}} {
		if rest, ok := strings.CutSuffix(t, u.suffix); ok {
			t, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > int64(1<<62)/int64(unit) {
		return 0, fmt.Errorf("not a size: %q: write for example 64 MiB", s)
	}
	return Bytes(n) * unit, nil
}

// Limits bound one run. A zero field means "no limit of its own": whoever
// builds Limits for a run starts from [DefaultLimits].
type Limits struct {
	// Timeout is wall time from the first user instruction. Waiting in a
	// queue, for an installation or for a human does not count.
	Timeout time.Duration
	// MaxTimeout is the most that a call may ask for.
	MaxTimeout time.Duration
	Memory     Bytes
	Processes  int // processes and threads together, as the kernel counts them
	OpenFiles  int
	// OutputKept is what is stored of each stream, head and tail.
	OutputKept Bytes
	// OutputProduced ends the run when both streams together exceed it.
	OutputProduced Bytes
	Scratch        Bytes // /tmp, /workspace and /dev/shm together
	ScratchFiles   int   // inodes over the same places
	// ToolCalls is how many calls of the tools of other servers a run may make.
	ToolCalls int
}

// DefaultLimits are those of a gear that sets none.
func DefaultLimits() Limits {
	return Limits{
		Timeout: 10 * time.Second, MaxTimeout: 300 * time.Second,
		Memory: 512 * MiB, Processes: 64, OpenFiles: 256,
		OutputKept: 256 * KiB, OutputProduced: 64 * MiB,
		Scratch: 64 * MiB, ScratchFiles: 4096,
		ToolCalls: 100,
	}
}

// Usage is what the kernel measured of a run.
type Usage struct {
	Wall       time.Duration
	CPU        time.Duration // user and system, of every process that was waited for
	MemoryPeak Bytes
}
