package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Process runs the command line of this process, on its streams and under its
// signals, and returns its exit code.
func Process() int {
	ctx, end := context.WithCancel(context.Background())
	ends, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup(1) has it
		signal.Notify(hangups, syscall.SIGHUP)
	}
	// The first signal asks for an orderly end; a second one has its usual effect, from
	// before anybody can see that the end has begun.
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ends:
		case <-ctx.Done():
		}
		signal.Stop(ends)
		signal.Stop(hangups)
		end()
	})
	defer watch.Wait()
	defer end()
	// When a reader such as head goes away, writing has to fail and not end the
	// process, which has a sandbox to take down. Ignoring the signal would do too,
	// but programs would inherit that (sigaction(2)), and a caught signal they do not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Main(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Hangups: Hangups{C: hangups, End: end}}, os.Args[1:])
}
