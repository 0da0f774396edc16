package pool

import (
	"slices"
	"time"
)

// counts are the parts of [Stats] that only grow.
type counts struct {
	fromParked, onDemand         uint64
	wait                         durations
	refills, warmed, letGo, died uint64
	opened, recycled, lost       uint64
}

// bounds of the buckets: from a checkout of a parked child to a caller who waits long.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

type durations struct {
	count    uint64
	sum, max time.Duration
	buckets  [len(bounds)]uint64 // not cumulative
}

func (d *durations) observe(t time.Duration) {
	d.count++
	d.sum += t
	d.max = max(d.max, t)
	for i, b := range bounds {
		if t <= b {
			d.buckets[i]++
			return
		}
	}
}

func (d *durations) told() Durations {
	out := Durations{Count: d.count, Sum: d.sum.Seconds(), Max: d.max.Seconds(), Buckets: make([]Bucket, len(bounds))}
	var below uint64
	for i, b := range bounds {
		below += d.buckets[i]
		out.Buckets[i] = Bucket{UpTo: b.Seconds(), Count: below}
	}
	return out
}

// Stats tells how the pool stands.
func (p *Pool) Stats() Stats {
	waiting, most := p.c.Turns.waits(), p.c.Turns.Most()
	p.mu.Lock()
	defer p.unlock()
	c := &p.counts
	s := Stats{
		Live: p.live, Parked: p.parked, Waiting: waiting, Sources: len(p.sources),
		Most: most, MaxParked: p.c.MaxParked, Pressed: p.memory.short,
		FromParked: c.fromParked, OnDemand: c.onDemand, Wait: c.wait.told(),
		Refills: c.refills, Warmed: c.warmed, LetGo: c.letGo, Died: c.died,
		Opened: c.opened, Recycled: c.recycled, Lost: c.lost,
		Ended: map[string]uint64{},
	}
	for cause, n := range p.endings {
		s.Ended[name(cause)] = n
	}
	for _, st := range slices.Backward(p.byUse()) {
		s.Templates = append(s.Templates, st.told())
	}
	return s
}

// told is how the pool stands with one template. The pool's mutex is held.
func (s *stock) told() TemplateStats {
	t := TemplateStats{
		Language: s.template.Language, Class: s.template.Class, Interpreter: s.template.Interpreter.String(),
		Preload: s.template.Preload, Programs: s.template.Shape.Programs,
		Live: s.live, Parked: len(s.parked), Target: s.target,
	}
	for _, c := range s.parked {
		if c.warm {
			t.Warm++
		}
	}
	if s.source != nil {
		t.Level, t.Made, t.Opened = s.source.Level(), s.source.made, s.source.opened
	}
	if s.wanted {
		t.Used = s.used
	}
	return t
}
