package cli

import (
	"context"
	"os"
	"sync"

	"github.com/gearbox-mcp/gearbox/internal/config"
	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// Hangups are the SIGHUPs of the process, which ask a server to read its configuration
// anew and everything else to end.
type Hangups struct {
	C <-chan os.Signal
	// End ends the command.
	End context.CancelFunc
}

// hangups say what is to be done about one.
type hangups struct {
	mu     sync.Mutex // guards what follows
	answer func()
}

// use sets the answer, nil for the end of the command. An answer that has begun is not
// waited for.
func (h *hangups) use(answer func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// follow answers hang-ups, one after the other, until the returned function is called,
// which waits for the last one.
func (a *app) follow(h Hangups) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-h.C:
				a.hungUp(h.End)
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (a *app) hungUp(end func()) {
	a.hangups.mu.Lock()
	answer := a.hangups.answer
	a.hangups.mu.Unlock()
	// The signal's first meaning: the terminal is gone, which then is one no more.
	if answer == nil || a.onTerminal && !isTerminal(a.In) {
		end()
		return
	}
	answer()
}

// reloader changes the configuration of a running server.
type reloader struct {
	given   *config.Given
	sidecar *sidecar.Sidecar
	log     *leveledLog
	now     *loaded
	// start sets what the settings do not say.
	start func(*sidecar.Options)
}

// reload reads the configuration anew. What comes of it is told by the sidecar.
func (r *reloader) reload(ctx context.Context) {
	var next *loaded
	err := r.sidecar.Reload(ctx, func() (o sidecar.Options, taken, waiting []string, err error) {
		whole, err := load(r.given)
		if err == nil {
			err = whole.check()
		}
		if err != nil {
			return o, nil, nil, err
		}
		followed, change := whole.resolved.Update(r.now.resolved)
		next = fill(followed)
		r.start(&next.server)
		return next.server, change.Taken, change.Waiting, nil
	})
	if err != nil {
		return
	}
	r.now = next
	r.log.set(next.log)
	for _, w := range next.resolved.Warnings {
		r.log.Warn(w)
	}
}
