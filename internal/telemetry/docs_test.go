package telemetry_test

import (
	"flag"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/gearbox-mcp/gearbox/internal/execution"
	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

var update = flag.Bool("update", false, "write the generated documents")

const metricsDocument = "../../docs/metrics.md"

// documented is a metric as the page shows it.
type documented struct {
	telemetry.Description
	Unit    string
	Buckets []string
}

func TestDocumentationOfMetricsIsUpToDate(t *testing.T) {
	page, err := template.ParseFiles("testdata/metrics.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	m := telemetry.New(telemetry.Config{Version: "…", GoVersion: "…", Servers: []string{"…"}, Logger: slog.New(slog.DiscardHandler)})
	var all []documented
	for _, d := range m.Descriptions() {
		one := documented{Description: d, Unit: unit(d.Name)}
		for _, b := range d.Buckets {
			one.Buckets = append(one.Buckets, bound(one.Unit, b))
		}
		all = append(all, one)
	}
	var out strings.Builder
	if err := page.Execute(&out, map[string]any{"Metrics": all, "Series": count(t, m)}); err != nil {
		t.Fatal(err)
	}
	golden(t, metricsDocument, out.String())
}

// unit is what a name says of its unit.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	for _, u := range []string{"seconds", "bytes"} {
		if strings.HasSuffix(name, "_"+u) {
			return u
		}
	}
	return ""
}

func bound(unit string, b float64) string {
	if unit == "bytes" {
		return execution.Bytes(b).String()
	}
	return strconv.FormatFloat(b, 'f', -1, 64)
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is behind the code: make docs writes it. Now:\n%s", path, got)
	}
}
