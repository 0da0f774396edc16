package cli

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAHangUpIsAnsweredByAServerAndEndsEverythingElse(t *testing.T) {
	for name, c := range map[string]struct {
		server, onTerminal, ends bool
	}{
		"a server":                           {server: true},
		"another command":                    {ends: true},
		"a server whose terminal is gone":    {server: true, onTerminal: true, ends: true},
		"another command without a terminal": {onTerminal: true, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			signals := make(chan os.Signal)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			answered := make(chan struct{})
			a := &app{Streams: Streams{In: strings.NewReader("")}, onTerminal: c.onTerminal}
			stop := a.follow(Hangups{C: signals, End: end})
			if c.server {
				a.hangups.use(func() { close(answered) })
			}
			signals <- syscall.SIGHUP
			if c.ends {
				<-ctx.Done()
			} else {
				<-answered
			}
			stop()
			if ended := ctx.Err() != nil; ended != c.ends {
				t.Errorf("ended: %v", ended)
			}
		})
	}
}
