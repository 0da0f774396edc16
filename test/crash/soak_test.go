//go:build linux

package crash

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// soaking is how long the load lasts: until what grows at first has grown, and then as
// long as it must not grow any more.
func soaking() (warmUp, load time.Duration) {
	if long() {
		return 2 * time.Minute, 18 * time.Minute
	}
	return 10 * time.Second, 24 * time.Second
}

// keptOperations is low, so that old ones are removed all the time.
const keptOperations = 150

// TestALongLoadLeavesNoMoreBehindThanAShortOne loads a server over HTTP by two clients,
// and its data directory by a third whose own servers come and go.
func TestALongLoadLeavesNoMoreBehindThanAShortOne(t *testing.T) {
	dir := dataDir(t)
	flags := []string{"--records-count", strconv.Itoa(keptOperations), "--concurrency", "4", "--pool-size", "2", "--pool-max", "4", "--log-level", "warn"}
	k := &soak{t: t, dir: dir, flags: flags, s: serve(t, dir, overHTTP, append(flags, "--log-level", "info")...), ended: map[string]int{}}
	warmUp, load := soaking()
	k.load(warmUp)
	before := k.settled("after the warm-up")
	k.load(load)
	after := k.settled("at the end")
	k.report()
	k.judge(before, after)
	requireWhole(t, dir)
	k.s.kill()
	eventually(t, "the processes of servers have to end", func() string { return strings.Join(shared.strays(t), ", ") })
}

type soak struct {
	t     *testing.T
	dir   string
	flags []string
	s     *server

	rows []figures

	mu    sync.Mutex // guards what follows
	ended map[string]int
}

// figures are what may not grow.
type figures struct {
	when                                           string
	memory                                         int64 // resident, in bytes
	descriptors, goroutines, processes, operations int
	disk                                           int64 // of the records, in bytes
	events                                         int64
	runs                                           int
}

// mixed are programs that end in many ways.
func mixed() []program {
	return []program{
		{"short", "python", "print(%d)", "ok", false},
		{"failing", "python", "print(%d)\n1/0", "error", false},
		{"in bash", "bash", "echo %d", "ok", false},
		{"forking", "bash", "echo %d; for i in 1 2 3 4 5 6 7 8; do (:) & done; wait", "ok", false},
		{"too slow", "python", "print(%d, flush=True)\nimport time\ntime.sleep(60)", "timeout", false},
		{"flooding", "python", "print(%d)\nwhile True: print('x' * 100_000)", "output_limit", false},
		{"printing much", "python", "print(%d)\nprint('x' * 200_000)", "ok", false},
		{"left behind", "bash", "echo %d; sleep 60 & disown", "ok", false},
	}
}

// load works the servers for a time.
func (k *soak) load(d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	ctx, cancel := context.WithCancel(k.t.Context())
	var work, watch sync.WaitGroup
	for i := range 2 {
		work.Go(func() { k.agent(ctx, uint64(i)) })
	}
	work.Go(func() { k.visitors(ctx) })
	watch.Go(func() { k.watch(ctx, d/4) })
	<-over.C
	cancel()
	work.Wait()
	watch.Wait()
}

// agent is a client over HTTP.
func (k *soak) agent(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // a test that can be repeated
	for n := 0; ctx.Err() == nil; n++ {
		k.one(k.s, random, n)
	}
}

// visitors are clients each of which starts a server of its own, as editors do.
func (k *soak) visitors(ctx context.Context) {
	random := rand.New(rand.NewPCG(2, 5)) //nolint:gosec // as above
	for ctx.Err() == nil {
		s := launch(k.t, k.dir, overStdio, k.flags...)
		if s == nil {
			return
		}
		for n := 0; n < 20 && ctx.Err() == nil; n++ {
			k.one(s, random, n)
		}
		s.close()
		<-s.gone
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			k.t.Errorf("a server over stdio ended with %d: %s", code, s.log)
		}
	}
}

func (k *soak) one(s *server, random *rand.Rand, n int) {
	kinds := mixed()
	p := kinds[random.IntN(len(kinds))]
	c := p.call(int64(n))
	if p.status == "timeout" {
		c.Timeout = 0.5
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), patience)
	defer cancel()
	a, err := use(ctx, s, "execute", c)
	for err == nil && a.Status == "running" {
		a, err = use(ctx, s, "get_operation", query{Operation: a.Operation})
	}
	if err != nil || a.Status != p.status || !strings.HasPrefix(a.Stdout, fmt.Sprintf("%d\n", n)) {
		k.t.Errorf("%s over %s: %v %.600s", p.name, s.transport, err, a.raw)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended[a.Status]++
}

// watch writes figures down while the load goes on.
func (k *soak) watch(ctx context.Context, every time.Duration) {
	next := time.NewTicker(every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			if ctx.Err() == nil {
				k.rows = append(k.rows, k.measure("under load"))
			}
		}
	}
}

// settled are the figures when nothing runs any more and what is kept ready is ready.
func (k *soak) settled(when string) figures {
	k.s.client.close() // connections that the load has opened
	var f figures
	eventually(k.t, "the server has to come to rest", func() string {
		g := k.gauges()
		if why := busy(g); why != "" {
			return why
		}
		f = k.measure(when)
		return ""
	})
	k.rows = append(k.rows, f)
	return f
}

// busy tells what is still going on.
func busy(g map[string]float64) string {
	for name, n := range g {
		if strings.HasPrefix(name, "gearbox_operations{") && n != 0 {
			return fmt.Sprint(name, " ", n)
		}
	}
	sum := func(family string) (n float64) {
		for name, v := range g {
			if strings.HasPrefix(name, family+"{") {
				n += v
			}
		}
		return n
	}
	if live, parked, target := sum("gearbox_pool_live_children"), sum("gearbox_pool_parked_children"), sum("gearbox_pool_target_children"); live != 0 || parked != target {
		return fmt.Sprintf("%v sandboxes are at work, %v are parked and %v are wanted", live, parked, target)
	}
	return ""
}

// gauges are what /metrics says now.
func (k *soak) gauges() map[string]float64 {
	status, body, err := k.s.web(k.t).get(context.WithoutCancel(k.t.Context()), "/metrics")
	if err != nil || status != http.StatusOK {
		k.t.Errorf("/metrics: %d %v", status, err)
	}
	all := map[string]float64{}
	for line := range strings.Lines(body) {
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || line[0] == '#' {
			continue
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64); err == nil {
			all[line[:i]] = n
		}
	}
	return all
}

func (k *soak) measure(when string) figures {
	g, proc := k.gauges(), fmt.Sprintf("/proc/%d", k.s.pid())
	open, err := os.ReadDir(proc + "/fd")
	if err != nil {
		k.t.Error(err)
	}
	k.mu.Lock()
	runs := 0
	for _, n := range k.ended {
		runs += n
	}
	k.mu.Unlock()
	return figures{
		when: when, memory: resident(k.t, proc), descriptors: len(open), goroutines: int(g["go_goroutines"]), processes: below(k.t, k.s.pid()),
		operations: len(operations(k.t, k.dir)), disk: k.records(), events: int64(g["gearbox_audit_sequence"]), runs: runs,
	}
}

// records is the size of the database with its log.
func (k *soak) records() (n int64) {
	names, _ := filepath.Glob(filepath.Join(k.dir, "records.db*")) // the pattern is a good one
	for _, name := range names {
		if st, err := os.Stat(name); err == nil {
			n += st.Size()
		}
	}
	return n
}

func resident(t *testing.T, proc string) int64 {
	f, err := os.Open(filepath.Clean(proc + "/status"))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, is := strings.CutPrefix(lines.Text(), "VmRSS:"); is {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
			if err != nil {
				t.Error(err)
			}
			return n << 10
		}
	}
	t.Errorf("%s tells no memory", proc)
	return 0
}

// report prints the figures as a table.
func (k *soak) report() {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\t runs\t memory MiB\t descriptors\t goroutines\t processes\t operations\t records MiB\t events\t")
	for _, f := range k.rows {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%d\t%d\t%d\t%d\t%.1f\t%d\t\n",
			f.when, f.runs, mib(f.memory), f.descriptors, f.goroutines, f.processes, f.operations, mib(f.disk), f.events)
	}
	_ = w.Flush()
	report(k.t, "soak", "A long load", fmt.Sprintf("%show runs ended: %v\n", b.String(), k.ended))
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// The margins, each for what differs between two moments of rest without anything
// growing.
const (
	// The garbage collector lets the heap grow to twice what lives before it works, and
	// gives memory back to the system in the background: half of the memory and the
	// output of the floods in flight, of which each keeps a megabyte or two.
	marginFactor = 1.5
	marginMemory = 16 << 20
	// The few connections that a scrape and a client's next call open, with two
	// goroutines each, and a fork server that is just replaced.
	marginDescriptors = 8
	marginGoroutines  = 12
	// A parked sandbox is two processes, and one may be on its way in or out.
	marginProcesses = 4
	// What one visitor runs after the last removal, with the agents beside it.
	marginOperations = 150
	// Audit events are never removed: a row takes less than this with its share of the
	// indexes.
	eventBytes = 1 << 10
	// An operation keeps at most what a flood may leave, and the log of the database is
	// worked off every few megabytes.
	marginDisk = 48 << 20
)

func (k *soak) judge(before, after figures) {
	for _, c := range []struct {
		what       string
		after, may int64
	}{
		{"bytes of memory", after.memory, int64(marginFactor*float64(before.memory)) + marginMemory},
		{"descriptors", int64(after.descriptors), int64(before.descriptors) + marginDescriptors},
		{"goroutines", int64(after.goroutines), int64(before.goroutines) + marginGoroutines},
		{"processes", int64(after.processes), int64(before.processes) + marginProcesses},
		{"operations", int64(after.operations), keptOperations + marginOperations},
		{"bytes of records", after.disk, before.disk + (after.events-before.events)*eventBytes + marginDisk},
	} {
		if c.after > c.may {
			k.t.Errorf("%d %s at the end, at most %d may be", c.after, c.what, c.may)
		}
	}
	for _, p := range mixed() {
		if k.ended[p.status] == 0 {
			k.t.Errorf("no run ended with %s: the load is not what it is meant to be", p.status)
		}
	}
	if after.runs <= after.operations {
		k.t.Errorf("%d operations of %d runs are kept: nothing was removed", after.operations, after.runs)
	}
}
