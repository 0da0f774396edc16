package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// part names what a child of the tests does, and with which directory.
const part = "GEARBOX_STORE_TEST"

// TestMain lets the test binary be other processes of a data directory.
func TestMain(m *testing.M) {
	name, dir, _ := strings.Cut(os.Getenv(part), " ")
	play := map[string]func(string) error{"commit": commitForever, "commit-some": commitSome, "half-migrate": migrateHalf}[name]
	if play == nil {
		os.Exit(m.Run())
	}
	if err := play(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts the test binary in a part. It is dead when the test ends.
func child(t *testing.T, name, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), part+"="+name+" "+dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewScanner(out)
}

// workers is how many runs a child has at once.
const workers = 6

func commitForever(dir string) error { return commitRuns(dir, 1<<30) }

// someRuns is how many runs each worker of a child that ends by itself makes.
const someRuns = 15

func commitSome(dir string) error { return commitRuns(dir, someRuns) }

// commitRuns says on stdout what was acknowledged: the id and the state.
func commitRuns(dir string, most int) error {
	s, err := store.Open(ctx(), store.Options{Dir: dir, Version: "v1", Instance: fmt.Sprint(os.Getpid())})
	if err != nil {
		return err
	}
	failed := make(chan error, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range most {
				if err := commitRun(s); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	return s.Close()
}

func commitRun(s *store.SQLite) error {
	r := storetest.Small("local", "print(1)")
	r.Request.Code = string(r.ID)
	begun := execution.Record{ID: r.ID, Request: r.Request, Gear: r.Gear, Created: r.Created}
	for _, step := range []struct {
		from, to execution.State
		change   execution.Change
		event    audit.Type
	}{
		{"", execution.StateSubmitted, execution.Change{Create: &begun}, audit.Requested},
		{execution.StateSubmitted, execution.StateRunning, execution.Change{}, audit.Started},
		{execution.StateRunning, execution.StateFinished, execution.Change{Finished: r.Finished, Result: &r.Result, Stdout: &r.Stdout}, audit.Finished},
	} {
		e := storetest.Event(r, step.event)
		e.Instance = ""
		if err := s.Commit(ctx(), r.ID, step.from, step.to, step.change, e); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(os.Stdout, "%s %s\n", r.ID, step.to); err != nil {
			return err
		}
	}
	return nil
}
