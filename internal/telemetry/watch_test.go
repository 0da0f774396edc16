package telemetry_test

import (
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/pool"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// busyPool is a pool that has done a little of everything.
func busyPool(backend string) telemetry.PoolStatus {
	python := pool.Kind{Language: execution.Python, Programs: pool.NoPrograms}
	return telemetry.PoolStatus{Backend: backend, Stats: pool.Stats{
		Live: 3, Parked: 5, Waiting: 2, Sources: 2, Most: 4, MaxParked: 8, Pressed: true,
		Counts: pool.Counts{Wait: pool.Durations{Count: 7, Sum: 1.5, Buckets: []pool.Bucket{
			{UpTo: pool.WaitBounds()[0], Count: 4}, {UpTo: pool.WaitBounds()[1], Count: 6},
		}}},
		Kinds: []pool.KindStats{{Kind: python, Counts: pool.Counts{
			FromParked: 11, OnDemand: 2, Refills: 13, LetGo: 1, Died: 3, Opened: 4, Recycled: 2, Lost: 1,
			Ended: map[string]uint64{"timeout": 6, "exited": 5, "a cause of a later version": 1},
		}}},
		Templates: []pool.TemplateStats{
			{Language: execution.Python, Class: execution.ClassLocal, Live: 1, Parked: 2, Warm: 1, Target: 2},
			{Language: execution.Python, Class: execution.ClassToken, Live: 2, Parked: 3, Warm: 3, Target: 4},
			{Language: execution.Bash, Programs: "grep,sed", Parked: 1},
			{Language: execution.Bash, Programs: "*", Parked: 2},
		},
	}}
}

func TestPoolsAndLoadAreReadAtTheScrape(t *testing.T) {
	m := metrics(t)
	asked := 0
	m.Watch(telemetry.Sources{
		Load: func() engine.Load { return engine.Load{Running: 3, Waiting: 4, Queue: 260} },
		Pools: func() []telemetry.PoolStatus {
			asked++
			return []telemetry.PoolStatus{busyPool("linux"), busyPool("host")}
		},
		AuditSequence: func() uint64 { return 99 },
	})
	got := scrape(t, m)
	python := []string{"backend=linux", "language=python", "programs=none"}
	with := func(more ...string) []string { return append(append([]string{}, python...), more...) }
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{3, "gearbox_operations", []string{"state=running"}},
		{4, "gearbox_operations", []string{"state=waiting"}},
		{260, "gearbox_operations_limit", nil},
		{99, "gearbox_audit_sequence", nil},
		{2, "gearbox_pool_waiting_callers", []string{"backend=linux"}},
		{4, "gearbox_pool_children_limit", []string{"backend=host"}},
		{8, "gearbox_pool_parked_limit", []string{"backend=linux"}},
		{1, "gearbox_pool_memory_short", []string{"backend=linux"}},
		{2, "gearbox_fork_servers", []string{"backend=linux"}},
		{3, "gearbox_pool_live_children", python},
		{5, "gearbox_pool_parked_children", python},
		{4, "gearbox_pool_warm_children", python},
		{6, "gearbox_pool_target_children", python},
		{1, "gearbox_pool_parked_children", []string{"backend=linux", "language=bash", "programs=listed"}},
		{2, "gearbox_pool_parked_children", []string{"backend=linux", "language=bash", "programs=all"}},
		{11, "gearbox_pool_checkouts_total", with("origin=parked")},
		{2, "gearbox_pool_checkouts_total", with("origin=made")},
		{13, "gearbox_pool_refills_total", python},
		{1, "gearbox_pool_unused_total", with("reason=let_go")},
		{3, "gearbox_pool_unused_total", with("reason=died")},
		{6, "gearbox_pool_ended_total", with("cause=timeout")},
		{5, "gearbox_pool_ended_total", with("cause=exited")},
		{1, "gearbox_pool_ended_total", with("cause=other")},
		{4, "gearbox_fork_servers_started_total", python},
		{2, "gearbox_fork_servers_ended_total", with("reason=recycled")},
		{1, "gearbox_fork_servers_ended_total", with("reason=died")},
		{7, "gearbox_pool_checkout_seconds", []string{"backend=linux"}},
		{0, "gearbox_pool_checkout_seconds", []string{"backend=other"}},
	} {
		if n := value(t, got, c.name, c.labels...); n != c.want {
			t.Errorf("%s%v: %v, want %v", c.name, c.labels, n, c.want)
		}
	}
	if asked != 1 {
		t.Errorf("the pools were asked %d times for one scrape", asked)
	}
	buckets := got["gearbox_pool_checkout_seconds"].GetMetric()[0].GetHistogram().GetBucket()
	if len(buckets) != len(pool.WaitBounds())+1 || buckets[0].GetCumulativeCount() != 4 || buckets[1].GetCumulativeCount() != 6 {
		t.Errorf("buckets: %v", buckets)
	}
}

func TestScrapesAndCountingGoOnSideBySide(t *testing.T) {
	m := metrics(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			j := m.Journal(memory())
			for range 50 {
				m.Watch(telemetry.Sources{Pools: func() []telemetry.PoolStatus { return []telemetry.PoolStatus{busyPool("linux")} }})
				life(t, j, execution.Python, execution.Result{Status: execution.StatusOK}, true)
				m.Login(true, 1)
			}
		})
		all.Go(func() {
			for range 10 {
				if _, err := m.Gatherer().Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n, err := testutil.GatherAndCount(m.Gatherer(), "mcp_execution_duration_seconds"); err != nil || n != 4 { // python, bash, tool, others
		t.Errorf("%d series, %v", n, err)
	}
	if n := value(t, scrape(t, m), "mcp_execution_duration_seconds", "language=python"); n != 200 {
		t.Errorf("%v executions, want 200", n)
	}
}

func BenchmarkScrape(b *testing.B) {
	m := metrics(b)
	m.Watch(telemetry.Sources{Pools: func() []telemetry.PoolStatus { return []telemetry.PoolStatus{busyPool("linux")} }})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Gatherer().Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
