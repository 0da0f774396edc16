//go:build linux

package crash

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inFlight is a call that is being answered.
type inFlight struct {
	answer answer
	err    error
	done   chan struct{}
}

func (s *server) begin(t *testing.T, c call) *inFlight {
	t.Helper()
	f := &inFlight{done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	go func() {
		defer close(f.done)
		defer cancel()
		f.answer, f.err = use(ctx, s.client, "execute", c)
	}()
	return f
}

// underWay waits until so many programs run.
func underWay(t *testing.T, dir string, n int) {
	t.Helper()
	eventually(t, "the programs have to start", func() string {
		running := 0
		for _, r := range operations(t, dir) {
			if r.State == "running" {
				running++
			}
		}
		if running < n {
			return "too few run"
		}
		return ""
	})
}

const endless = "import time\nprint('here', flush=True)\ntime.sleep(25)"

func TestAServerThatIsStoppedLetsCallsEndAndMarksThoseThatDoNot(t *testing.T) {
	t.Parallel()
	for _, over := range []transport{overHTTP, overUnix} {
		t.Run(string(over), func(t *testing.T) {
			dir := dataDir(t)
			s := serve(t, dir, over, "--stop-timeout", "6s")
			s.execute(t, call{Code: "1"}) // the sandbox is ready
			quick := s.begin(t, call{Code: "import time\ntime.sleep(2)\nprint(7)"})
			cut := s.begin(t, call{Code: endless, Timeout: 30})
			left := s.execute(t, call{Code: endless, Timeout: 30, Wait: seconds(0)})
			underWay(t, dir, 3)
			s.signal(t, unix.SIGTERM)
			if exit := s.ended(t); exit != 0 {
				t.Errorf("exit code %d: %s", exit, s.log)
			}
			<-quick.done
			<-cut.done
			if quick.err != nil || quick.answer.Status != "ok" || quick.answer.Stdout != "7\n" {
				t.Errorf("a call that could end: %v %s", quick.err, quick.answer.raw)
			}
			if cut.err != nil || cut.answer.Status != "interrupted" {
				t.Errorf("a call that could not end: %v %s", cut.err, cut.answer.raw)
			}
			requireKept(t, dir, quick.answer)
			requireKept(t, dir, cut.answer)
			all := operations(t, dir)
			if why := unfinished(all); why != "" {
				t.Error(why)
			}
			if r := all[left.Operation]; r.Status != "interrupted" {
				t.Errorf("a run that nobody waited for: %s", r.line)
			}
			requireNothingLeft(t, dir, all)
		})
	}
}

func TestASecondSignalEndsAServerAtOnceAndTheNextOneFinishesWhatItLeft(t *testing.T) {
	t.Parallel()
	for _, over := range []transport{overHTTP, overStdio} {
		t.Run(string(over), func(t *testing.T) {
			dir := dataDir(t)
			flags := []string{}
			if over == overHTTP {
				flags = []string{"--stop-timeout", "10m"}
			}
			s := serve(t, dir, over, flags...)
			told := s.execute(t, call{Code: "print(1)"})
			f := s.begin(t, call{Code: endless, Timeout: 30})
			underWay(t, dir, 1)
			s.signal(t, unix.SIGTERM)
			// The first is taken when the server no longer listens, or has ended.
			if over == overHTTP {
				eventually(t, "the server has to stop listening", func() string {
					if _, _, err := newWeb(strings.TrimPrefix(s.web(t).url, "http://")).get(t.Context(), "/healthz"); err == nil {
						return "it still answers"
					}
					return ""
				})
				s.signal(t, unix.SIGTERM)
			}
			s.ended(t)
			<-f.done
			next := serve(t, dir, overHTTP)
			var all map[string]row
			eventually(t, "every operation has to end", func() string {
				all = operations(t, dir)
				return unfinished(all)
			})
			requireKept(t, dir, told)
			if interrupted := ended(all, "interrupted"); len(all) != 2 || interrupted != 1 {
				t.Errorf("%d operations, %d of them interrupted, and one of two was", len(all), interrupted)
			}
			next.kill()
			requireNothingLeft(t, dir, all)
		})
	}
}

func ended(all map[string]row, status string) (n int) {
	for _, r := range all {
		if r.Status == status {
			n++
		}
	}
	return n
}

// requireNothingLeft checks what has to hold when no server lives.
func requireNothingLeft(t *testing.T, dir string, all map[string]row) {
	t.Helper()
	requireWhole(t, dir)
	requireHistory(t, all, events(t, dir))
	eventually(t, "the processes of servers have to end", func() string { return strings.Join(shared.strays(t), ", ") })
}

func TestAnAnswerIsInTheRecordsWhenTheClientHasIt(t *testing.T) {
	dir := dataDir(t)
	for _, over := range []transport{overStdio, overHTTP, overUnix} {
		s := serve(t, dir, over)
		for i, p := range programs() {
			told := s.execute(t, p.call(int64(i)))
			if told.Status == "running" {
				told = s.outcome(t, told.Operation)
			}
			if !p.right(told, int64(i)) {
				t.Errorf("%s over %s: %s", p.name, over, told.raw)
			}
			requireKept(t, dir, told)
		}
	}
}
