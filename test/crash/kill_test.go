//go:build linux

package crash

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// kills is how many servers are killed in all.
func kills() int {
	if long() {
		return 200
	}
	return 20
}

func TestAKilledServerLosesNothingAndTheNextOneFinishesWhatItLeft(t *testing.T) {
	newCampaign(t, 1, overHTTP).run(kills() / 2)
}

func TestOneOfThreeServersIsKilledAndTheOthersLoseNothing(t *testing.T) {
	newCampaign(t, 2, overStdio, overHTTP, overUnix).run(kills() / 2)
}

// campaign kills servers that share a data directory, one after another, under load.
type campaign struct {
	t       *testing.T
	dir     string
	seed    uint64
	random  *rand.Rand
	servers []*server
	killed  map[int]bool   // by process id
	listed  map[string]row // what the records held after the last kill
	numbers atomic.Int64

	mu        sync.Mutex // guards what follows
	known     map[string]*acknowledged
	confirmed int // answers that another process found in the records at once
}

// acknowledged is an operation whose id a client was told.
type acknowledged struct {
	program program
	number  int64
	server  int    // the process id
	told    answer // the final one, once there is one
}

func newCampaign(t *testing.T, seed uint64, over ...transport) *campaign {
	c := &campaign{
		t: t, dir: dataDir(t), seed: seed, random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // a test that can be repeated
		killed: map[int]bool{}, known: map[string]*acknowledged{}, listed: map[string]row{},
	}
	for _, o := range over {
		c.servers = append(c.servers, serve(t, c.dir, o))
	}
	return c
}

func (c *campaign) run(rounds int) {
	for n := range rounds {
		c.round(n)
		if c.t.Failed() {
			c.t.Fatalf("in round %d of seed %d", n, c.seed)
		}
	}
	c.conclude()
}

// program is one kind of program. Each prints the number that it is given.
type program struct {
	name, language, source string
	status                 string
	detached               bool // asked for later
}

func programs() []program {
	return []program{
		{"short", "python", "print(%d)", "ok", false},
		{"computing", "python", "s = sum(range(3_000_000))\nprint(%d)", "ok", false},
		{"slow", "python", "import time\ntime.sleep(0.4)\nprint(%d)", "ok", false},
		{"long", "python", "import time\ntime.sleep(3)\nprint(%d)", "ok", false},
		{"asked for later", "python", "import time\ntime.sleep(1)\nprint(%d)", "ok", true},
		{"in bash", "bash", "(echo %d) & wait", "ok", false},
		{"failing", "python", "print(%d)\n1/0", "error", false},
		{"printing much", "python", "print(%d)\nprint('x' * 9000)", "ok", false},
	}
}

func (p program) call(number int64) call {
	c := call{Code: fmt.Sprintf(p.source, number), Language: p.language}
	if p.detached {
		c.Wait = seconds(0)
	}
	return c
}

// right reports whether an answer is the program's.
func (p program) right(a answer, number int64) bool {
	return a.Status == p.status && (a.Stdout == fmt.Sprintf("%d\n", number) || strings.HasPrefix(a.Stdout, fmt.Sprintf("%d\nx", number)))
}

const workersEach = 3

// round puts all servers under load, kills one at a random point, and looks.
func (c *campaign) round(n int) {
	victim := c.servers[c.random.IntN(len(c.servers))]
	enough, pause := 1+c.random.IntN(4*len(c.servers)), time.Duration(c.random.IntN(300))*time.Millisecond
	var answered atomic.Int64
	point := make(chan struct{})
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i, s := range c.servers {
		for j := range workersEach {
			w := &worker{
				c: c, s: s, victim: s == victim, stop: stop,
				random: rand.New(rand.NewPCG(c.seed, uint64(1+n*100+i*10+j))), //nolint:gosec // as above, and small
				answered: func() {
					if answered.Add(1) == int64(enough) {
						close(point)
					}
				},
			}
			work.Go(w.run)
		}
	}
	c.await(point, "no answers come")
	<-time.After(pause)
	c.killed[victim.pid()] = true
	victim.kill()
	close(stop)
	work.Wait()
	c.look(n, victim)
}

func (c *campaign) await(point chan struct{}, what string) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-point:
	case <-limit.C:
		c.t.Fatalf("%s within %v", what, patience)
	}
}

// look checks the records after a kill, and brings the victim back.
func (c *campaign) look(n int, victim *server) {
	t := c.t
	eventually(t, "what the dead server started has to end", func() string { return strings.Join(shared.strays(t), ", ") })
	// The living finish what the dead one left, or its successor does.
	alone := len(c.servers) == 1
	if alone || n%2 == 0 {
		c.replace(victim)
	}
	var all map[string]row
	eventually(t, "every operation has to end", func() string {
		all = operations(t, c.dir)
		return unfinished(all)
	})
	if !alone && n%2 != 0 {
		c.replace(victim)
	}
	for id, before := range c.listed {
		if now := all[id]; now.line != before.line {
			t.Errorf("%s was\n%s\nand after another kill it is\n%s", id, before.line, now.line)
		}
	}
	for id, r := range all {
		if r.Status == "interrupted" && !c.killed[r.pid()] {
			t.Errorf("%s was interrupted and its server was never killed: %s", id, r.line)
		}
	}
	for id, a := range c.known {
		if _, before := c.listed[id]; !before {
			c.compare(all, id, a)
		}
	}
	c.listed = all
	requireWhole(t, c.dir)
}

// replace starts a server in the place of a dead one.
func (c *campaign) replace(dead *server) {
	for i, s := range c.servers {
		if s == dead {
			c.servers[i] = serve(c.t, c.dir, s.transport)
		}
	}
}

// compare checks an operation that a client knows with what a server says of it now.
func (c *campaign) compare(all map[string]row, id string, a *acknowledged) {
	r, ok := all[id]
	if !ok {
		c.t.Errorf("%s, of which a client was told, is not in the records", id)
		return
	}
	if r.pid() != a.server {
		c.t.Errorf("%s was taken on by process %d and belongs to %s", id, a.server, r.Instance)
	}
	now := c.servers[0].outcome(c.t, id)
	if told := a.told; told.final() && !bytes.Equal(now.raw, told.raw) {
		c.t.Errorf("%s, %s: a client was told\n%s\nand is now told\n%s", id, a.program.name, told.raw, now.raw)
	}
	if !a.program.right(now, a.number) && (now.Status != "interrupted" || !c.killed[a.server]) {
		c.t.Errorf("%s, %s of number %d: %s", id, a.program.name, a.number, now.raw)
	}
	a.told = now
}

// conclude asks once more for everything that any client was ever told, and reads the
// whole history.
func (c *campaign) conclude() {
	t := c.t
	all := operations(t, c.dir)
	interrupted := 0
	for id, a := range c.known {
		now := c.servers[len(c.servers)-1].outcome(t, id)
		if !bytes.Equal(now.raw, a.told.raw) {
			t.Errorf("%s was\n%s\nand in the end it is\n%s", id, a.told.raw, now.raw)
		}
	}
	for _, r := range all {
		if r.Status == "interrupted" {
			interrupted++
		}
	}
	recorded := events(t, c.dir)
	requireHistory(t, all, recorded)
	report(t, fmt.Sprintf("kill%d", len(c.servers)), fmt.Sprintf("Kills of one of %d servers on a data directory", len(c.servers)), fmt.Sprintf(
		"%d kills (seed %d): %d operations, %d of them known to clients, %d interrupted,\n%d answers shown at once by another process, %d audit events, nothing lost or changed: %v\n",
		len(c.killed), c.seed, len(all), len(c.known), interrupted, c.confirmed, len(recorded), !t.Failed()))
	if interrupted == 0 {
		t.Error("no kill met an operation: the load was none")
	}
}

// worker is one client at work.
type worker struct {
	c        *campaign
	s        *server
	victim   bool
	stop     <-chan struct{}
	random   *rand.Rand
	answered func()
}

func (w *worker) run() {
	kinds := programs()
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		if err := w.one(kinds[w.random.IntN(len(kinds))]); err != nil {
			if !w.victim {
				w.c.t.Errorf("over %s, whose server was not killed: %v", w.s.transport, err)
			}
			return
		}
		w.answered()
	}
}

// one runs one program. An error is that of a connection.
func (w *worker) one(p program) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.c.t.Context()), patience)
	defer cancel()
	a := &acknowledged{program: p, number: w.c.numbers.Add(1), server: w.s.pid()}
	got, err := use(ctx, w.s, "execute", p.call(a.number))
	if err != nil {
		return err
	}
	if got.Operation == "" {
		w.c.t.Errorf("no operation was made: %s", got.raw)
		return nil
	}
	w.note(got, a)
	for got.Status == "running" {
		if got, err = use(ctx, w.s, "get_operation", query{Operation: got.Operation}); err != nil {
			return err
		}
		w.note(got, a)
	}
	if !p.right(got, a.number) {
		w.c.t.Errorf("%s of number %d over %s: %s", p.name, a.number, w.s.transport, got.raw)
	}
	if w.random.IntN(8) == 0 {
		w.confirm(got)
	}
	return nil
}

// note writes down what a client was told.
func (w *worker) note(got answer, a *acknowledged) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if got.final() {
		a.told = got
	}
	w.c.known[got.Operation] = a
}

// confirm has another process look whether what a client was told is in the records.
func (w *worker) confirm(told answer) {
	if why := difference(w.c.t, w.c.dir, told); why != "" {
		w.c.t.Error(why)
		return
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.confirmed++
}
