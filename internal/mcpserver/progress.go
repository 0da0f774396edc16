package mcpserver

import (
	"context"
	"log/slog"
	"sync"
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

// keepAlive sends progress notifications until the returned function is called,
// if the client gave a token for them. That function returns when the last
// notification is out: TypeScript clients lose one that arrives with the answer.
func (s *service) keepAlive(ctx context.Context, req *mcp.CallToolRequest, id execution.ID) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.sendProgress(ctx, req.Session, token, id) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (s *service) sendProgress(ctx context.Context, session *mcp.ServerSession, token any, id execution.ID) {
	start := time.Now()
	tick := time.NewTimer(firstProgress)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			tick.Reset(progressEvery)
			elapsed := now.Sub(start).Round(time.Second)
			err := session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				Meta:          mcp.Meta{OperationKey: string(id)},
				ProgressToken: token, Progress: elapsed.Seconds(), Message: "running for " + elapsed.String() + " as operation " + string(id),
			})
			if err != nil && ctx.Err() == nil {
				s.log.LogAttrs(ctx, slog.LevelWarn, "progress could not be sent", slog.String("error", err.Error()))
				return
			}
		}
	}
}
