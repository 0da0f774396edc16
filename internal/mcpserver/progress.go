package mcpserver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

// firstProgress is when a call that takes long is told its operation, in time for one
// that is cut off; those of most programs have ended.
const firstProgress = time.Second

// OperationKey is where a progress notification has the id of the operation, in _meta.
const OperationKey = "gearbox/operation_id"

// progressEvery keeps clients that give up after 30 or 60 quiet seconds waiting;
// one lost notification does no harm.
const progressEvery = 10 * time.Second

// What a call is waiting for, in words for people.
const (
	runningFor         = "running for"
	waitingForApproval = "waiting for approval"
)

// liveness is the sending of progress notifications during one call.
type liveness struct {
	waiting atomic.Pointer[string]
	woken   chan struct{} // what is waited for has changed
	cancel  context.CancelFunc
	sent    sync.WaitGroup
}

// keepAlive sends progress notifications until it is stopped, if the client gave a token
// for them. The id is empty for a call that is about no one operation.
func (s *service) keepAlive(ctx context.Context, req *mcp.CallToolRequest, id execution.ID) *liveness {
	ctx, cancel := context.WithCancel(ctx)
	l := &liveness{woken: make(chan struct{}, 1), cancel: cancel}
	l.waiting.Store(new(runningFor))
	if token := req.Params.GetProgressToken(); token != nil {
		l.sent.Go(func() { s.sendProgress(ctx, l, req.Session, token, id) })
	}
	return l
}

// stop returns when the last notification is out: TypeScript clients lose one that
// arrives with the answer.
func (l *liveness) stop() {
	l.cancel()
	l.sent.Wait()
}

// say tells the client at once, and from then on, what is waited for.
func (l *liveness) say(waiting string) {
	if *l.waiting.Swap(&waiting) == waiting {
		return
	}
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

func (s *service) sendProgress(ctx context.Context, l *liveness, session *mcp.ServerSession, token any, id execution.ID) {
	start := time.Now()
	tick := time.NewTimer(firstProgress)
	defer tick.Stop()
	for last := -1.0; ; {
		select {
		case <-ctx.Done():
			return
		case <-l.woken:
		case <-tick.C:
			tick.Reset(progressEvery)
		}
		elapsed := time.Since(start)
		message := *l.waiting.Load()
		if message == runningFor {
			message += " " + elapsed.Round(time.Second).String()
		}
		// The number has to grow with each notification.
		last = max(elapsed.Seconds(), last+0.001)
		p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: last, Message: message}
		if id != "" {
			p.Meta, p.Message = mcp.Meta{OperationKey: string(id)}, message+" as operation "+string(id)
		}
		err := session.NotifyProgress(ctx, p)
		if err != nil && ctx.Err() == nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "progress could not be sent", slog.String("error", err.Error()))
			return
		}
	}
}
