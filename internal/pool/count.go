package pool

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gearbox-mcp/gearbox/internal/sandbox"
)

// counts are what was done for one kind, see [Counts].
type counts struct {
	fromParked, onDemand         uint64
	wait                         durations
	refills, warmed, letGo, died uint64
	opened, recycled, lost       uint64
	endings                      map[sandbox.Cause]uint64
}

// countsOf finds or makes the counts of a template's kind. The mutex is held.
func (p *Pool) countsOf(t sandbox.Template) *counts {
	k := kindOf(t)
	if p.kinds[k] == nil {
		p.kinds[k] = &counts{endings: map[sandbox.Cause]uint64{}}
	}
	return p.kinds[k]
}

func kindOf(t sandbox.Template) Kind {
	return Kind{Language: t.Language, Programs: setOf(t.Shape.Programs)}
}

// setOf names a list of programs as [sandbox.Shape] has it.
func setOf(programs string) ProgramSet {
	switch programs {
	case "":
		return NoPrograms
	case "*":
		return AllPrograms
	default:
		return ListedPrograms
	}
}

// add counts what o has counted.
func (c *counts) add(o *counts) {
	c.fromParked += o.fromParked
	c.onDemand += o.onDemand
	c.wait.add(&o.wait)
	c.refills += o.refills
	c.warmed += o.warmed
	c.letGo += o.letGo
	c.died += o.died
	c.opened += o.opened
	c.recycled += o.recycled
	c.lost += o.lost
	for cause, n := range o.endings {
		c.endings[cause] += n
	}
}

func (c *counts) told() Counts {
	t := Counts{
		FromParked: c.fromParked, OnDemand: c.onDemand, Wait: c.wait.told(),
		Refills: c.refills, Warmed: c.warmed, LetGo: c.letGo, Died: c.died,
		Opened: c.opened, Recycled: c.recycled, Lost: c.lost, Ended: make(map[string]uint64, len(c.endings)),
	}
	for cause, n := range c.endings {
		t.Ended[name(cause)] = n
	}
	return t
}

// bounds of the buckets: from a checkout of a parked child to a caller who waits long.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// WaitBounds are the bounds of the buckets of [Counts.Wait], in seconds.
func WaitBounds() []float64 {
	out := make([]float64, len(bounds))
	for i, b := range bounds {
		out[i] = b.Seconds()
	}
	return out
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

func (d *durations) add(o *durations) {
	d.count += o.count
	d.sum += o.sum
	d.max = max(d.max, o.max)
	for i, n := range o.buckets {
		d.buckets[i] += n
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
	s := Stats{
		Live: p.live, Parked: p.parked, Waiting: waiting, Sources: len(p.sources),
		Most: most, MaxParked: p.c.MaxParked, Pressed: p.memory.short,
	}
	all := counts{endings: map[sandbox.Cause]uint64{}}
	for _, k := range slices.SortedFunc(maps.Keys(p.kinds), inOrder) {
		all.add(p.kinds[k])
		s.Kinds = append(s.Kinds, KindStats{k, p.kinds[k].told()})
	}
	s.Counts = all.told()
	for _, st := range slices.Backward(p.byUse()) {
		s.Templates = append(s.Templates, st.told())
	}
	return s
}

func inOrder(a, b Kind) int {
	return cmp.Or(cmp.Compare(a.Language, b.Language), cmp.Compare(a.Programs, b.Programs))
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
