package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

func ctx() context.Context { return context.Background() }

// kills is how often the test below kills a process; the seed is fixed, the moments
// differ as the machine does.
const kills = 6

func TestWhatAKilledProcessHadAcknowledgedIsThereAndTheChainIsWhole(t *testing.T) {
	dir := t.TempDir()
	survivor := open(t, store.Options{Dir: dir, Instance: "survivor"})
	own := kept(t, survivor, storetest.Small("local", "mine"))
	begin(t, survivor, storetest.Small("local", "going on"))
	random := rand.New(rand.NewPCG(7, 7))
	for range kills {
		victim, said := child(t, "commit", dir)
		acknowledged := map[execution.ID]execution.State{}
		for left := random.IntN(400); said.Scan(); left-- {
			id, state, _ := strings.Cut(said.Text(), " ")
			acknowledged[execution.ID(id)] = execution.State(state)
			if left == 0 {
				must(t, victim.Process.Kill())
			}
		}
		_ = victim.Wait() // it was killed
		kept(t, survivor, storetest.Small("local", "beside it"))
		checkAcknowledged(t, survivor, acknowledged)
		interruptOnce(t, survivor, fmt.Sprint(victim.Process.Pid))
	}
	if r, err := survivor.Load(t.Context(), "local", own.ID); err != nil || r.Result.Status != execution.StatusOK {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := survivor.Operations(t.Context(), store.Filter{State: execution.StateSubmitted}); err != nil || len(left) != 1 || left[0].Instance != "survivor" {
		t.Errorf("%+v, %v", left, err)
	}
	once(t, events(t, survivor))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func checkAcknowledged(t *testing.T, s *store.SQLite, acknowledged map[execution.ID]execution.State) {
	t.Helper()
	rank := map[execution.State]int{execution.StateSubmitted: 1, execution.StateRunning: 2, execution.StateFinished: 3}
	for id, state := range acknowledged {
		r, err := s.Load(t.Context(), "local", id)
		if err != nil || rank[r.State] < rank[state] || r.Request.Code != string(id) {
			t.Fatalf("%s was acknowledged as %s: %+v, %v", id, state, r, err)
		}
		if state == execution.StateFinished && (r.Result.Status != execution.StatusOK || string(r.Stdout.Head) != "print(1)\n") {
			t.Fatalf("%s: %+v", id, r)
		}
	}
}

// interruptOnce lets several callers finish what the dead instance left.
func interruptOnce(t *testing.T, s *store.SQLite, dead string) {
	t.Helper()
	open, err := s.Operations(t.Context(), store.Filter{Limit: 1 << 20})
	must(t, err)
	want := 0
	for _, o := range open {
		if o.Instance == dead && o.State != execution.StateFinished {
			want++
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := 0
	for range 3 {
		wg.Go(func() {
			n, err := s.Interrupt(t.Context(), func(instance string) bool { return instance != dead }, interrupted)
			mu.Lock()
			defer mu.Unlock()
			got += n
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got != want {
		t.Errorf("%d of %d operations were interrupted", got, want)
	}
}

func interrupted(r execution.Record) (execution.Change, audit.Event) {
	return engine.Interrupted(r, storetest.Noon)
}

// once checks that no operation began or ended twice.
func once(t *testing.T, all []audit.Event) {
	t.Helper()
	type key struct {
		id  execution.ID
		typ audit.Type
	}
	seen := map[key]bool{}
	for _, e := range all {
		k := key{e.Operation, e.Type}
		if seen[k] {
			t.Errorf("%s is %s twice", e.Operation, e.Type)
		}
		seen[k] = true
	}
}

func TestProcessesThatBeginARecordTogetherKeepOneChain(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	const processes = 3
	for range processes {
		c, said := child(t, "commit-some", dir)
		wg.Go(func() {
			lines := 0
			for said.Scan() {
				lines++
			}
			if err := c.Wait(); err != nil || lines != workers*someRuns*3 {
				t.Errorf("%d lines, %v", lines, err)
			}
		})
	}
	wg.Wait()
	s := open(t, store.Options{Dir: dir, MustExist: true})
	all := events(t, s)
	once(t, all)
	instances := map[string]int{}
	for _, e := range all {
		instances[e.Instance]++
	}
	u, err := s.Usage(t.Context())
	if err != nil || len(all) != processes*workers*someRuns*3 || len(instances) != processes || u.Operations != processes*workers*someRuns || u.Unfinished != 0 {
		t.Errorf("%d events of %v, %+v, %v", len(all), instances, u, err)
	}
}

func TestManyOpenersOfANewDirectoryMigrateItOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := store.Open(ctx(), store.Options{Dir: dir, Version: "v1"})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(s.Record(ctx(), audit.Event{Time: storetest.Noon, Type: audit.Config}), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(events(t, open(t, store.Options{Dir: dir}))); n != 8 {
		t.Errorf("%d events", n)
	}
}

// migrateHalf makes the schema in a transaction that it never commits.
func migrateHalf(dir string) error {
	text, err := os.ReadFile("migrations/0001_operations_and_events.sql")
	if err != nil {
		return err
	}
	db, err := raw(dir + "/" + store.File)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode = WAL", "PRAGMA cache_size = 1", "BEGIN IMMEDIATE", string(text), "PRAGMA user_version = 1"} {
		if _, err := db.ExecContext(ctx(), statement); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stdout, "half")
	select {}
}

func TestAMigrationThatWasKilledHalfWayIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	c, said := child(t, "half-migrate", dir)
	if !said.Scan() || said.Text() != "half" {
		t.Fatalf("%q, %v", said.Text(), said.Err())
	}
	if _, err := store.Open(t.Context(), store.Options{Dir: dir, Version: "v1", Wait: 1}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("beside it: %v", err)
	}
	must(t, c.Process.Kill())
	_ = c.Wait()
	s := open(t, store.Options{Dir: dir})
	kept(t, s, storetest.Full())
	events(t, s)
}
