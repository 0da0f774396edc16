package engine

import (
	"runtime"
	"sync/atomic"
)

// Load is how busy an engine is.
type Load struct {
	// Running executions have a child, or one that is just being taken apart;
	// waiting ones wait for their turn or for a child that is being made.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// Queue bounds both together, and as many more of what was approved.
	Queue int `json:"queue"`
}

// Load tells how busy the engine is now.
func (e *Engine) Load() Load {
	return Load{Running: int(e.busy.running.Load()), Waiting: int(e.busy.waiting.Load()), Queue: int(e.queue.Load())}
}

// SetQueue changes how many operations are taken on, see [Config]. Those that were taken
// on stay.
func (e *Engine) SetQueue(n int) { e.queue.Store(int64(queueOr(n))) }

// queueOr is n, or the default.
func queueOr(n int) int {
	if n <= 0 {
		return runsPerCore*runtime.NumCPU() + waiting
	}
	return n
}

// busy counts the executions that have a child and those that want one.
type busy struct{ running, waiting atomic.Int64 }
