//go:build linux

package sidecar_test

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
	"strings"

	"strconv"
	"golang.org/x/sys/unix"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

func one1(t *testing.T, s *sidecar.Sidecar, who execution.Principal, code string, to time.Duration) (time.Duration, execution.Result) {
	b := time.Now()
	id, err := s.Engine().Submit(t.Context(), execution.Request{Principal: who, Language: execution.Python, Code: code, Timeout: to})
	if err != nil {
		return 0, execution.Result{Status: "rejected"}
	}
	r, err := s.Engine().Wait(t.Context(), who, id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(b), r
}

func pct(d []time.Duration) string {
	slices.Sort(d)
	if len(d) == 0 { return "none" }
	return fmt.Sprintf("n=%d p50=%.2f p90=%.2f p99=%.2f max=%.2f", len(d), ms(d[len(d)/2]), ms(d[len(d)*9/10]), ms(d[len(d)*99/100]), ms(d[len(d)-1]))
}
func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func paced(t *testing.T, s *sidecar.Sidecar, who execution.Principal, n int, gap time.Duration) []time.Duration {
	var out []time.Duration
	tick := time.NewTicker(gap)
	defer tick.Stop()
	for range n {
		<-tick.C
		d, r := one1(t, s, who, "print(1)", 0)
		if r.Status != "ok" { t.Log(r.Status, r.Error, r.Stderr) }
		out = append(out, d)
	}
	return out
}

func delta(t *testing.T, s *sidecar.Sidecar, f func()) {
	a := s.Boxed()
	f()
	b := s.Boxed()
	d := map[string][2]int{}
	for k, v := range b.Debug { d[k] = [2]int{v[0]-a.Debug[k][0], v[1]-a.Debug[k][1]} }
	t.Log(d)
	t.Logf("   parked %d ondemand %d refills %d warmed %d letgo %d | wait mean %.3fms max %.1fms (since start)", b.FromParked-a.FromParked, b.OnDemand-a.OnDemand, b.Refills-a.Refills, b.Warmed-a.Warmed, b.LetGo-a.LetGo, (b.Wait.Sum-a.Wait.Sum)/float64(b.Wait.Count-a.Wait.Count)*1000, b.Wait.Max*1000)
}

func TestZZMeasure(t *testing.T) {
	if us := os.Getenv("SLICE"); us != "" {
		n, _ := strconv.Atoi(us)
		list, _ := os.ReadDir("/proc/self/task")
		for _, e := range list {
			tid, _ := strconv.Atoi(e.Name())
			err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 0, Runtime: uint64(n) * 1000}, 0)
			if err != nil { t.Log(err) }
		}
	}
	s := open(t, sidecar.Options{})
	atRest(t, s)
	want := os.Getenv("ZZ")
	do := func(name string, f func()) {
		if want == "" || strings.Contains(want, name) { t.Log(name); delta(t, s, f) }
	}
	for _, gap := range []time.Duration{40, 20, 10, 5} {
		do("paced", func() { t.Log(gap, pct(paced(t, s, execution.Local, 150, gap*time.Millisecond))) })
	}
	for _, c := range []int{1, 2, 4, 8, 16} {
		do("sat", func() {
			var mu sync.Mutex
			var all []time.Duration
			var wg sync.WaitGroup
			b := time.Now()
			for range c {
				wg.Go(func() {
					for range 300 / c {
						d, _ := one1(t, s, execution.Local, "print(1)", 0)
						mu.Lock(); all = append(all, d); mu.Unlock()
					}
				})
			}
			wg.Wait()
			el := time.Since(b)
			t.Logf("c=%d %.0f/s %s", c, float64(len(all))/el.Seconds(), pct(all))
		})
	}
	do("hog", func() {
		paced(t, s, "good", 20, 20*time.Millisecond)
		t.Log("alone", pct(paced(t, s, "good", 100, 40*time.Millisecond)))
		for name, code := range hogs() {
			stop := make(chan struct{})
			var wg sync.WaitGroup
			n := 0
			var mu sync.Mutex
			for range 8 {
				wg.Go(func() {
					for {
						select { case <-stop: return; default: }
						_, _ = one1(t, s, "hog", code, time.Second/2)
						mu.Lock(); n++; mu.Unlock()
					}
				})
			}
			delta(t, s, func() { t.Log("beside hogs of", name, pct(paced(t, s, "good", 60, 40*time.Millisecond))) })
			close(stop)
			wg.Wait()
			t.Log("hog runs", n)
		}
	})
}
