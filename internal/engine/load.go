package engine

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Load is how busy an engine is.
type Load struct {
	// Running executions have a sandbox, or one that is just being taken apart;
	// waiting ones have no turn yet.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// Concurrency bounds the running ones, Queue the waiting ones.
	Concurrency int `json:"concurrency"`
	Queue       int `json:"queue"`
}

// Load tells how busy the engine is now.
func (e *Engine) Load() Load {
	return Load{
		Running: int(e.slots.running.Load()), Waiting: int(e.slots.waiting.Load()),
		Concurrency: e.c.Concurrency, Queue: e.c.Queue,
	}
}

// slots are the turns that there are, counted.
type slots struct {
	free             *semaphore.Weighted
	running, waiting atomic.Int64
}

func newSlots(n int) *slots { return &slots{free: semaphore.NewWeighted(int64(n))} }

// Acquire waits for n turns.
func (s *slots) Acquire(ctx context.Context, n int64) error {
	s.waiting.Add(n)
	defer s.waiting.Add(-n)
	if err := s.free.Acquire(ctx, n); err != nil {
		return err
	}
	s.running.Add(n)
	return nil
}

// Release gives n turns back.
func (s *slots) Release(n int64) {
	s.running.Add(-n)
	s.free.Release(n)
}
