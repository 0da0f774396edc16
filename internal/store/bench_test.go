package store_test

import (
	"iter"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// each runs a benchmark for every durability.
func each(b *testing.B, run func(*testing.B, *store.SQLite)) {
	for _, d := range []store.Durability{store.Process, store.Power} {
		b.Run(string(d), func(b *testing.B) {
			s := open(b, store.Options{Durability: d, Instance: "4711-ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
			b.ReportAllocs()
			run(b, s)
		})
	}
}

// run commits what the engine commits for one execution of a program that needs one
// permission.
func run(b *testing.B, s *store.SQLite, record func(audit.Event)) {
	r := storetest.Small("local", "print(1)")
	begin(b, s, r)
	record(storetest.Event(r, audit.Decided))
	if err := s.Commit(b.Context(), r.ID, execution.StateSubmitted, execution.StateRunning, execution.Change{}, storetest.Event(r, audit.Started)); err != nil {
		b.Fatal(err)
	}
	change := execution.Change{Finished: r.Finished, Result: &r.Result, Stdout: &r.Stdout, Stderr: &r.Stderr}
	if err := s.Commit(b.Context(), r.ID, execution.StateRunning, execution.StateFinished, change, storetest.Event(r, audit.Finished)); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkACommitAlone(b *testing.B) {
	each(b, func(b *testing.B, s *store.SQLite) {
		for b.Loop() {
			begin(b, s, storetest.Small("local", "print(1)"))
		}
	})
}

func BenchmarkAnEventAlone(b *testing.B) {
	each(b, func(b *testing.B, s *store.SQLite) {
		for b.Loop() {
			if err := s.Record(b.Context(), audit.Event{Time: storetest.Noon, Type: audit.Decided}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSixteenCommitsAtOnce(b *testing.B) {
	each(b, func(b *testing.B, s *store.SQLite) {
		work, done := make(chan bool), make(chan bool)
		for range 16 {
			go func() {
				for range work {
					begin(b, s, storetest.Small("local", "print(1)"))
					done <- true
				}
			}()
		}
		for b.Loop() {
			go func() {
				for range 16 {
					work <- true
				}
			}()
			for range 16 {
				<-done
			}
		}
		close(work)
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/16, "µs/commit")
	})
}

func BenchmarkTheCommitsOfARun(b *testing.B) {
	each(b, func(b *testing.B, s *store.SQLite) {
		for b.Loop() {
			run(b, s, func(e audit.Event) {
				if err := s.Record(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			})
		}
	})
}

func BenchmarkTheCommitsOfARunWhoseDecisionsComeWithTheStart(b *testing.B) {
	each(b, func(b *testing.B, s *store.SQLite) {
		for b.Loop() {
			run(b, s, func(audit.Event) {})
		}
	})
}

func BenchmarkALoad(b *testing.B) {
	s := open(b, store.Options{})
	r := kept(b, s, storetest.Small("local", "print(1)"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Load(b.Context(), "local", r.ID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAskingForTheState(b *testing.B) {
	s := open(b, store.Options{})
	r := kept(b, s, storetest.Small("local", "print(1)"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.State(b.Context(), "local", r.ID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyingAnEvent(b *testing.B) {
	s := open(b, store.Options{})
	var count atomic.Int64
	for range 1000 {
		kept(b, s, storetest.Small("local", "1"))
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := s.Verify(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		count.Add(r.Count())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(count.Load()), "ns/event")
}

// BenchmarkTheEventsOfAnOperation looks for the first of a hundred thousand events, in
// the database and by reading all of them here. An index would be faster, and would cost
// every commit.
func BenchmarkTheEventsOfAnOperation(b *testing.B) {
	s := open(b, store.Options{Dir: b.TempDir()})
	all := make([]audit.Event, 100_000)
	for i := range all {
		all[i] = storetest.Event(storetest.Small("local", "1"), audit.Decided)
	}
	if err := s.Record(b.Context(), all...); err != nil {
		b.Fatal(err)
	}
	wanted := all[0].Operation
	for name, events := range map[string]iter.Seq2[audit.Entry, error]{"sought there": s.LatestOf(b.Context(), wanted, 0), "read here": s.Latest(b.Context(), 0)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				found := 0
				for entry, err := range events {
					if err != nil {
						b.Fatal(err)
					}
					if e, err := entry.Event(); err == nil && e.Operation == wanted {
						found++
					}
				}
				if found != 1 {
					b.Fatal(found)
				}
			}
		})
	}
}

// waits puts questions about programs of 4 KiB.
func waits(b *testing.B, s *store.SQLite, n int) {
	b.Helper()
	for range n {
		r := storetest.Small("local", strings.Repeat("x", 4096))
		begin(b, s, r)
		q := execution.Approval{Hash: execution.DigestOf([]byte(r.ID)), Summary: "A question.", Expires: storetest.Noon.Add(time.Hour)}
		if err := s.Commit(b.Context(), r.ID, execution.StateSubmitted, execution.StatePending, execution.Change{Question: &q}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkALookAmongManyThatWait is what a server does every second: it looks for what was
// approved or has expired, and there is nothing.
func BenchmarkALookAmongManyThatWait(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := open(b, store.Options{Instance: "4711-ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
			waits(b, s, n)
			b.ReportAllocs()
			for b.Loop() {
				if due, err := s.Due(b.Context(), storetest.Noon); err != nil || len(due) > 0 {
					b.Fatal(due, err)
				}
			}
		})
	}
}

// BenchmarkAListOfManyThatWait is what the human's list costs.
func BenchmarkAListOfManyThatWait(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := open(b, store.Options{Instance: "4711-ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
			waits(b, s, n)
			for b.Loop() {
				if all, err := s.Waiting(b.Context()); err != nil || len(all) != n {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}
