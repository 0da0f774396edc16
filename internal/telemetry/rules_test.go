package telemetry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	dto "github.com/prometheus/client_model/go"

	"github.com/gearbox-mcp/gearbox/internal/telemetry"
)

const (
	dashboardFile = "../../docs/deploy/grafana/gearbox.json"
	rulesFile     = "../../docs/deploy/prometheus/alerts.yml"
	rulesTests    = "../../docs/deploy/prometheus/alerts_test.yml"
)

// rules is the part of a rules file that matters here.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Alert       string            `yaml:"alert,omitempty"`
	Record      string            `yaml:"record,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var r rules
	if err := yaml.UnmarshalWithOptions(file(t, rulesFile), &r, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 1 || len(r.Groups[0].Rules) < 10 {
		t.Fatalf("not the rules: %+v", r)
	}
	return r.Groups[0].Rules
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// panel is the part of a dashboard's panel that matters here.
type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Targets     []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

func dashboard(t *testing.T) []panel {
	t.Helper()
	var d struct {
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(file(t, dashboardFile), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) < 20 {
		t.Fatalf("not the dashboard: %d panels", len(d.Panels))
	}
	return d.Panels
}

// filled puts something in the place of a dashboard's variables, as Grafana does.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*").Replace(expr)
}

// known is what there is to ask for.
type known struct {
	described map[string]telemetry.Description
	scraped   map[string]*dto.MetricFamily
}

func knownMetrics(t *testing.T) known {
	t.Helper()
	m := metrics(t)
	k := known{described: map[string]telemetry.Description{}, scraped: scrape(t, m)}
	for _, d := range m.Descriptions() {
		k.described[d.Name] = d
	}
	return k
}

// ofTheScraper are labels that Prometheus adds to everything that it scrapes.
var ofTheScraper = []string{"job", "instance"}

// check finds what an expression asks for and is not there.
func (k known) check(expr string) []string {
	q, err := parse(expr)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	groupable := slices.Clone(ofTheScraper)
	for _, s := range q.selectors {
		labels, why := k.labels(s.metric)
		if why != "" {
			problems = append(problems, why)
			continue
		}
		for _, l := range labels {
			groupable = append(groupable, l.Name)
		}
		for _, m := range s.matchers {
			problems = append(problems, checkMatcher(s.metric, labels, m)...)
		}
	}
	for _, l := range q.labels {
		if !slices.Contains(groupable, l) {
			problems = append(problems, fmt.Sprintf("groups by %s, a label of none of its metrics", l))
		}
	}
	return problems
}

// labels are those of a metric, in the form in which it can be asked for.
func (k known) labels(metric string) ([]telemetry.Label, string) {
	if metric == "up" {
		return nil, ""
	}
	if d, ok := k.described[metric]; ok {
		if d.Type == telemetry.Histogram {
			return nil, metric + " is a histogram: ask for its _bucket, _sum or _count"
		}
		return d.Labels, ""
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		d, ok := k.described[strings.TrimSuffix(metric, suffix)]
		if !ok || d.Type != telemetry.Histogram || !strings.HasSuffix(metric, suffix) {
			continue
		}
		if suffix == "_bucket" {
			return append(slices.Clone(d.Labels), telemetry.Label{Name: "le"}), ""
		}
		return d.Labels, ""
	}
	if f := k.scraped[metric]; f != nil && len(f.GetMetric()[0].GetLabel()) == 0 {
		return nil, ""
	}
	return nil, "there is no metric " + metric
}

func checkMatcher(metric string, labels []telemetry.Label, m matcher) []string {
	if slices.Contains(ofTheScraper, m.label) {
		return nil
	}
	i := slices.IndexFunc(labels, func(l telemetry.Label) bool { return l.Name == m.label })
	if i < 0 {
		return []string{metric + " has no label " + m.label}
	}
	wanted := func(v string) bool { return v == m.value }
	if strings.Contains(m.op, "~") {
		pattern, err := regexp.Compile("^(?:" + m.value + ")$")
		if err != nil {
			return []string{err.Error()}
		}
		wanted = pattern.MatchString
	}
	if !slices.ContainsFunc(labels[i].Values, wanted) {
		return []string{fmt.Sprintf("%s{%s} is never %q", metric, m.label, m.value)}
	}
	return nil
}

func TestExpressionsThatAskForWhatIsNotThereAreFound(t *testing.T) {
	k := knownMetrics(t)
	for _, expr := range []string{
		`gearbox_nothing_total`, `rate(gearbox_logins_total{result="perhaps"}[5m])`, `gearbox_logins_total{who="x"}`,
		`mcp_execution_duration_seconds`, `gearbox_logins_total_bucket`, `sum by (principal) (gearbox_operations)`,
		`gearbox_http_requests_total{class=~"6.."}`, `go_nothing`,
	} {
		if k.check(expr) == nil {
			t.Errorf("%s finds nothing to complain of", expr)
		}
	}
}

func TestTheDashboardAsksForWhatIsThere(t *testing.T) {
	k := knownMetrics(t)
	asked := map[string]bool{}
	ids := map[int]bool{}
	for _, p := range dashboard(t) {
		if ids[p.ID] {
			t.Errorf("%s: the id %d is given twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, problem := range k.check(filled(target.Expr)) {
				t.Errorf("%s: %s: %s", p.Title, problem, target.Expr)
			}
			q, _ := parse(filled(target.Expr))
			for _, s := range q.selectors {
				asked[s.metric] = true
			}
		}
	}
	for _, name := range []string{"mcp_execution_requests_total", "mcp_execution_duration_seconds_bucket", "mcp_execution_errors_total"} {
		if !asked[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

func TestTheAlertRulesAskForWhatIsThere(t *testing.T) {
	k := knownMetrics(t)
	for _, r := range alerts(t) {
		for _, problem := range k.check(r.Expr) {
			t.Errorf("%s: %s", r.Alert, problem)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s: say with summary, description and severity what is wrong, what to do and how bad it is", r.Alert)
		}
	}
}

func TestEachAlertRuleHasATestInWhichItFires(t *testing.T) {
	text := string(file(t, rulesTests))
	for _, r := range alerts(t) {
		if !strings.Contains(text, fmt.Sprintf("alertname=%q", r.Alert)) {
			t.Errorf("%s never fires in %s", r.Alert, rulesTests)
		}
	}
}

// promtool is the checker of Prometheus itself.
func promtool(t *testing.T) func(args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		path = "../../.cache/tools/promtool"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no promtool in the path, and scripts/setup.sh has built none")
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) {
		out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
		if err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

func TestPrometheusTakesTheAlertRulesAndTheyFireAsTheirTestsSay(t *testing.T) {
	run := promtool(t)
	run("check", "rules", "--lint=all", "--lint-fatal", rulesFile)
	run("test", "rules", rulesTests)
}

func TestPrometheusTakesTheExpressionsOfTheDashboard(t *testing.T) {
	run := promtool(t)
	var all []rule
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			all = append(all, rule{Record: fmt.Sprintf("panel:%d:%d", p.ID, len(all)), Expr: filled(target.Expr)})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": all}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run("check", "rules", name)
}
