package mcpserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery keeps clients that give up after 30 or 60 quiet seconds waiting;
// one lost notification does no harm.
const progressEvery = 10 * time.Second

// keepAlive sends progress notifications until the returned function is called,
// if the client gave a token for them. That function returns when the last
// notification is out: TypeScript clients lose one that arrives with the answer.
func (s *service) keepAlive(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.sendProgress(ctx, req.Session, token) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (s *service) sendProgress(ctx context.Context, session *mcp.ServerSession, token any) {
	start := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			elapsed := now.Sub(start).Round(time.Second)
			err := session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: elapsed.Seconds(), Message: "running for " + elapsed.String(),
			})
			if err != nil && ctx.Err() == nil {
				s.log.LogAttrs(ctx, slog.LevelWarn, "progress could not be sent", slog.String("error", err.Error()))
				return
			}
		}
	}
}
