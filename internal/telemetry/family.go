package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Type is the type of a metric.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Description says what a metric is. It is what the documentation, the dashboard and
// the alert rules are checked against.
type Description struct {
	Name    string
	Type    Type
	Labels  []Label
	Meaning string
	// Buckets are the upper bounds of a histogram.
	Buckets []float64
}

// Label is a dimension of a metric, with every value that it can have.
type Label struct {
	Name    string
	Values  []string
	Meaning string
}

// other is the value of whatever is not in a label's set.
const other = "other"

// label makes a label of a set that does not hold everything that may be met.
func label(name, meaning string, values ...string) Label {
	return Label{Name: name, Meaning: meaning, Values: append(slices.Clone(values), other)}
}

// either makes a label of two values that the product alone chooses between.
func either(name, meaning, first, second string) Label {
	return Label{Name: name, Meaning: meaning, Values: []string{first, second}}
}

// names turns the values of an enumeration into those of a label.
func names[S ~string](values ...S) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

// index is the place of a value in the set; the last one is that of what is not in it.
func (l Label) index(value string) int {
	if i := slices.Index(l.Values, value); i >= 0 {
		return i
	}
	return len(l.Values) - 1
}

func (d *Description) labelNames() []string {
	out := make([]string, 0, len(d.Labels))
	for _, l := range d.Labels {
		out = append(out, l.Name)
	}
	return out
}

// rows are all combinations of label values, the last label varying fastest.
func (d *Description) rows() [][]string {
	rows := [][]string{{}}
	for _, l := range d.Labels {
		var longer [][]string
		for _, r := range rows {
			for _, v := range l.Values {
				longer = append(longer, append(slices.Clone(r), v))
			}
		}
		rows = longer
	}
	return rows
}

// row is the place of one combination among the rows.
func (d *Description) row(values []string) int {
	if len(values) != len(d.Labels) {
		panic("telemetry: " + d.Name + ": a value for each label is needed")
	}
	i := 0
	for n, l := range d.Labels {
		i = i*len(l.Values) + l.index(values[n])
	}
	return i
}

// counters are the series of one counter, all of them there from the start, so that
// counting neither looks them up by text nor allocates.
type counters struct {
	d      *Description
	series []prometheus.Counter
}

func (c counters) at(values ...string) prometheus.Counter { return c.series[c.d.row(values)] }

// histograms are the series of one histogram.
type histograms struct {
	d      *Description
	series []prometheus.Observer
}

func (h histograms) at(values ...string) prometheus.Observer { return h.series[h.d.row(values)] }

// counter registers a counter with all its series.
func (m *Metrics) counter(name, meaning string, labels ...Label) counters {
	d := m.describe(Description{Name: name, Type: Counter, Meaning: meaning, Labels: labels})
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: meaning}, d.labelNames())
	m.registry.MustRegister(vec)
	c := counters{d: d}
	for _, r := range d.rows() {
		c.series = append(c.series, vec.WithLabelValues(r...))
	}
	return c
}

// histogram registers a histogram with all its series.
func (m *Metrics) histogram(name, meaning string, buckets []float64, labels ...Label) histograms {
	d := m.describe(Description{Name: name, Type: Histogram, Meaning: meaning, Labels: labels, Buckets: buckets})
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: meaning, Buckets: buckets}, d.labelNames())
	m.registry.MustRegister(vec)
	h := histograms{d: d}
	for _, r := range d.rows() {
		h.series = append(h.series, vec.WithLabelValues(r...))
	}
	return h
}

// gauge registers a gauge that has one series.
func (m *Metrics) gauge(name, meaning string) prometheus.Gauge {
	m.describe(Description{Name: name, Type: Gauge, Meaning: meaning})
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: meaning})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) describe(d Description) *Description {
	m.descriptions = append(m.descriptions, &d)
	return &d
}
