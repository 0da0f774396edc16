package telemetry_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

// metrics are those of a process that has just started.
func metrics(t testing.TB) *telemetry.Metrics {
	t.Helper()
	return telemetry.New(telemetry.Config{Version: "v1.2.3", Gear: "user_confirmed", Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
}

// scrape reads the metrics as Prometheus does: over a connection, in the text form.
func scrape(t testing.TB, m *telemetry.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s", res.Status, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value is one series of a scrape: the count of a histogram, the value of anything else.
// Labels are written as name=value.
func value(t testing.TB, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	slices.Sort(labels)
	for _, one := range families[name].GetMetric() {
		var have []string
		for _, l := range one.GetLabel() {
			have = append(have, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(have)
		if !slices.Equal(have, labels) {
			continue
		}
		switch families[name].GetType() {
		case dto.MetricType_COUNTER:
			return one.GetCounter().GetValue()
		case dto.MetricType_GAUGE:
			return one.GetGauge().GetValue()
		case dto.MetricType_HISTOGRAM:
			return float64(one.GetHistogram().GetSampleCount())
		default:
			t.Fatalf("%s is a %v", name, families[name].GetType())
		}
	}
	t.Errorf("no series %s{%s}", name, strings.Join(labels, ","))
	return -1
}

func TestEverySeriesIsThereAtZeroFromTheStart(t *testing.T) {
	m := metrics(t)
	families := scrape(t, m)
	for _, d := range m.Descriptions() {
		series := 1
		for _, l := range d.Labels {
			series *= len(l.Values)
		}
		got := families[d.Name].GetMetric()
		if len(got) != series {
			t.Errorf("%s has %d series, and its labels have %d combinations", d.Name, len(got), series)
		}
		if d.Name == "gearbox_build_info" {
			continue
		}
		for _, one := range got {
			if n := one.GetCounter().GetValue() + one.GetGauge().GetValue() + float64(one.GetHistogram().GetSampleCount()); n != 0 {
				t.Errorf("%s starts at %v: %v", d.Name, n, one)
			}
		}
	}
}

func TestTheScrapeIsWhatTheDescriptionsSay(t *testing.T) {
	m := metrics(t)
	families := scrape(t, m)
	described := map[string]telemetry.Description{}
	for _, d := range m.Descriptions() {
		if _, twice := described[d.Name]; twice {
			t.Errorf("%s is described twice", d.Name)
		}
		described[d.Name] = d
	}
	for name, f := range families {
		d, ok := described[name]
		if !ok {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("%s is not described", name)
			}
			continue
		}
		if got := strings.ToLower(f.GetType().String()); got != string(d.Type) || f.GetHelp() != d.Meaning {
			t.Errorf("%s: %s, %q, but described as %s, %q", name, got, f.GetHelp(), d.Type, d.Meaning)
		}
		for _, l := range d.Labels {
			if l.Meaning == "" || len(l.Values) == 0 {
				t.Errorf("%s: the label %s has no values or says nothing", name, l.Name)
			}
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s is described and not there", name)
	}
}

func TestNamesFollowThePrometheusConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(metrics(t).Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
