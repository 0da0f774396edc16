package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gearbox-mcp/gearbox/internal/pool"
)

// sheet holds the values of all tables for one scrape, and sends those that nobody
// wrote as 0.
type sheet map[*table][]float64

// add adds to one value: what several templates tell of the same labels is summed.
func (s sheet) add(t *table, n float64, values ...string) {
	if s[t] == nil {
		s[t] = make([]float64, len(t.rows))
	}
	s[t][t.d.row(values)] += n
}

// Describe implements [prometheus.Collector].
func (w *watched) Describe(ch chan<- *prometheus.Desc) {
	for _, t := range w.tables {
		ch <- t.desc
	}
	ch <- w.checkout.desc
}

// Collect implements [prometheus.Collector].
func (w *watched) Collect(ch chan<- prometheus.Metric) {
	s, waits := w.read()
	for _, t := range w.tables {
		values := s[t]
		for i, row := range t.rows {
			n := 0.0
			if values != nil {
				n = values[i]
			}
			ch <- prometheus.MustNewConstMetric(t.desc, t.kind, n, row...)
		}
	}
	for i, row := range w.checkout.rows {
		d := waits[i]
		buckets := make(map[float64]uint64, len(w.checkout.d.Buckets))
		for _, upTo := range w.checkout.d.Buckets {
			buckets[upTo] = 0
		}
		for _, b := range d.Buckets {
			buckets[b.UpTo] += b.Count
		}
		ch <- prometheus.MustNewConstHistogram(w.checkout.desc, d.Count, d.Sum, buckets, row...)
	}
}

// read asks each source once. The waits are by the rows of checkout.
func (w *watched) read() (sheet, []pool.Durations) {
	s, waits := sheet{}, make([]pool.Durations, len(w.checkout.rows))
	from := w.sources.Load()
	if from == nil {
		return s, waits
	}
	if from.Load != nil {
		load := from.Load()
		s.add(w.operations, float64(load.Running), "running")
		s.add(w.operations, float64(load.Waiting), "waiting")
		s.add(w.queue, float64(load.Queue))
	}
	if from.AuditSequence != nil {
		s.add(w.sequence, float64(from.AuditSequence()))
	}
	if from.Pools != nil {
		for _, p := range from.Pools() {
			w.readPool(s, p)
			at := w.checkout.d.row([]string{p.Backend})
			waits[at] = sum(waits[at], p.Wait)
		}
	}
	return s, waits
}

// sum adds two histograms with the same bounds.
func sum(a, b pool.Durations) pool.Durations {
	a.Count += b.Count
	a.Sum += b.Sum
	a.Buckets = append(a.Buckets, b.Buckets...) // of the same bounds: they are added where they are sent
	return a
}

func (w *watched) readPool(s sheet, p PoolStatus) {
	s.add(w.waiting, float64(p.Waiting), p.Backend)
	s.add(w.places, float64(p.Most), p.Backend)
	s.add(w.bound, float64(p.MaxParked), p.Backend)
	s.add(w.servers, float64(p.Sources), p.Backend)
	if p.Pressed {
		s.add(w.short, 1, p.Backend)
	}
	for _, t := range p.Templates {
		kind := []string{p.Backend, string(t.Language), string(t.Kind().Programs)}
		s.add(w.live, float64(t.Live), kind...)
		s.add(w.parked, float64(t.Parked), kind...)
		s.add(w.warm, float64(t.Warm), kind...)
		s.add(w.target, float64(t.Target), kind...)
	}
	for _, k := range p.Kinds {
		w.readCounts(s, p.Backend, k)
	}
}

func (w *watched) readCounts(s sheet, backend string, k pool.KindStats) {
	language, programs := string(k.Language), string(k.Programs)
	add := func(t *table, n uint64, last ...string) {
		s.add(t, float64(n), append([]string{backend, language, programs}, last...)...)
	}
	add(w.handed, k.FromParked, "parked")
	add(w.handed, k.OnDemand, "made")
	add(w.refills, k.Refills)
	add(w.unused, k.LetGo, "let_go")
	add(w.unused, k.Died, "died")
	add(w.started, k.Opened)
	add(w.gone, k.Recycled, "recycled")
	add(w.gone, k.Lost, "died")
	for cause, n := range k.Ended {
		add(w.ended, n, cause)
	}
}
