//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report is one run of the benchmark.
type report struct {
	Machine  machine
	Sections []section
	// Figures are what the bars are computed from: NAME.p50, NAME.p99 and others.
	Figures map[string]float64

	laps map[string]series
	out  io.Writer // each section is printed as soon as it is there
}

// section is one table. A row that is shorter than the columns ends with a
// remark for all the rest.
type section struct {
	Title, About string
	Columns      []string
	Rows         [][]string
	// Timed sections are those of races: in the document they are one table.
	Timed bool
}

func newReport(m machine, out io.Writer) *report {
	return &report{Machine: m, Figures: map[string]float64{}, laps: map[string]series{}, out: out}
}

func (r *report) add(s section) {
	r.Sections = append(r.Sections, s)
	s.print(r.out)
}

// set notes a figure, unless it is none.
func (r *report) set(name string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		r.Figures[name] = v
	}
}

func (r *report) series(key string, s series) {
	r.laps[key] = s
	r.set(key+".p50", s.percentile(50))
	r.set(key+".p99", s.percentile(99))
}

// compare notes the median over the turns of a:b under that name.
func (r *report) compare(a, b string) { r.set(a+":"+b, pairs(r.laps[a], r.laps[b], ratio)) }

// differ notes the median over the turns of a less b under a name.
func (r *report) differ(name, a, b string) { r.set(name, pairs(r.laps[a], r.laps[b], difference)) }

func (s section) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", s.Title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{s.Columns}, s.Rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
}

// markdown writes the section as it stands in the document, below a heading of
// the level.
func (s section) markdown(w io.Writer, level int) {
	fmt.Fprintf(w, "\n%s %s\n\n", strings.Repeat("#", level), s.Title)
	if s.About != "" {
		fmt.Fprintf(w, "%s\n\n", s.About)
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(s.Columns, " | "), strings.Repeat("---|", len(s.Columns)))
	for _, row := range s.Rows {
		cells := make([]string, len(s.Columns))
		for i := range min(len(row), len(cells)) {
			cells[i] = strings.ReplaceAll(row[i], "|", "\\|")
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// number writes a figure with as many digits as mean something.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// reason is an error in one line of a table.
func reason(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	const most = 200
	if text := strings.TrimSpace(lines[len(lines)-1]); len(text) <= most {
		return text
	}
	return strings.TrimSpace(lines[len(lines)-1])[:most] + "…"
}

func (r *report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func read(file string) (*report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := newReport(machine{}, io.Discard)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}
