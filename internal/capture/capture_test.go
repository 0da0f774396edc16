package capture_test

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/gearbox-mcp/gearbox/internal/capture"
	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestStreamKeepsEverythingUpToItsSize(t *testing.T) {
	s := capture.NewStream(10)
	for _, p := range []string{"ab", "cdef", "ghij"} {
		_, _ = s.Write([]byte(p))
	}
	o := s.Output()
	if string(o.Head) != "abcdefghij" || len(o.Tail) != 0 || o.Total != 10 {
		t.Fatalf("got head %q tail %q total %d", o.Head, o.Tail, o.Total)
	}
}

func TestStreamKeepsTheFirstAndTheLastBytesOfALongOne(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, step := range []int{1, 3, 7, 64, 1004} {
		s := capture.NewStream(8)
		all := []byte("head" + long + "tail")
		for len(all) > 0 {
			n := min(step, len(all))
			_, _ = s.Write(all[:n])
			all = all[n:]
		}
		o := s.Output()
		if string(o.Head) != "head" || string(o.Tail) != "tail" || o.Total != 1008 {
			t.Errorf("step %d: head %q tail %q total %d", step, o.Head, o.Tail, o.Total)
		}
	}
}

func FuzzStreamKeepsAPrefixAndASuffix(f *testing.F) {
	f.Add([]byte("hello, world"), uint8(4), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, keep, step uint8) {
		s := capture.NewStream(execution.Bytes(keep))
		for rest := data; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			_, _ = s.Write(rest[:n])
			rest = rest[n:]
		}
		o := s.Output()
		if int(o.Total) != len(data) || !bytes.HasPrefix(data, o.Head) || !bytes.HasSuffix(data, o.Tail) {
			t.Fatalf("%q kept as %q … %q of %d", data, o.Head, o.Tail, o.Total)
		}
		if len(o.Tail) == 0 && !bytes.Equal(o.Head, data) {
			t.Fatalf("%q is incomplete although nothing is said to be missing: %q", data, o.Head)
		}
	})
}

func TestDrainReadsOnAfterTheBudgetIsSpent(t *testing.T) {
	var calls int
	b := capture.NewBudget(10, func() { calls++ })
	s := capture.NewStream(4)
	if err := capture.Drain(strings.NewReader(strings.Repeat("y", 100_000)), s, b); err != nil {
		t.Fatal(err)
	}
	if o := s.Output(); o.Total != 100_000 || calls != 1 {
		t.Fatalf("total %d, exceeded called %d times", o.Total, calls)
	}
}

func TestBudgetIsSharedByConcurrentStreams(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	b := capture.NewBudget(1<<20, func() { mu.Lock(); calls++; mu.Unlock() })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_ = capture.Drain(io.LimitReader(zeros{}, 300<<10), capture.NewStream(1024), b)
		})
	}
	wg.Wait()
	if calls != 1 {
		t.Fatalf("exceeded called %d times for 1,200 KiB of 1,024", calls)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestCutsNeverSplitACharacter(t *testing.T) {
	text := []byte("aé漢🎉z")
	for i := range len(text) + 1 {
		if got := capture.TrimTail(text[:i:i]); !utf8.Valid(got) {
			t.Errorf("TrimTail of %d bytes leaves %q", i, got)
		}
		if got := capture.TrimHead(text[i:]); !utf8.Valid(got) {
			t.Errorf("TrimHead from %d leaves %q", i, got)
		}
	}
	if got := capture.TrimTail([]byte("ok\xff")); string(got) != "ok\xff" {
		t.Errorf("a byte that begins no character is not a cut one: %q", got)
	}
}

func TestTextReplacesWhatIsNotUTF8AndSaysSo(t *testing.T) {
	got, lossy := capture.Text([]byte("ok\xff\xfe\x00\xed\xa0\x80"))
	if !lossy || !strings.HasPrefix(got, "ok\ufffd") || !utf8.ValidString(got) {
		t.Errorf("%q lossy=%v", got, lossy)
	}
	if got, lossy := capture.Text([]byte("füße")); lossy || got != "füße" {
		t.Errorf("%q lossy=%v", got, lossy)
	}
}
