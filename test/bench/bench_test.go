//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPercentileIsALapThatWasRun(t *testing.T) {
	all := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 50: 3, 99: 5, 100: 5} {
		if got := percentile(all, p); got != want {
			t.Errorf("percentile %v: %v instead of %v", p, got, want)
		}
	}
	if !math.IsNaN(percentile(nil, 50)) {
		t.Error("the percentile of nothing is a number")
	}
}

func TestPairsJoinLapsOfTheSameTurn(t *testing.T) {
	a := series{{0, 10}, {1, 1000}, {2, 30}, {4, 50}}
	b := series{{0, 1}, {2, 2}, {3, 9}, {4, 5}}
	if got := pairs(a, b, ratio); got != 10 { // of 10, 15 and 10
		t.Errorf("the median ratio is %v", got)
	}
	if !math.IsNaN(pairs(a, series{{7, 1}}, ratio)) {
		t.Error("laps of different turns were joined")
	}
}

// recorded is an entrant that writes down when it ran, and fails in one lap.
func recorded(key string, every, failing int, log *[]string) entrant {
	laps := 0
	return entrant{key: key, name: key, every: every, open: func(context.Context) (lap, func(), error) {
		return func(context.Context) (time.Duration, error) {
			*log = append(*log, key)
			if laps++; laps == failing {
				return 0, errors.New("it fell over")
			}
			return time.Millisecond, nil
		}, nil, nil
	}}
}

func TestEntrantsTakeTurnsAndTheFallenAreNamed(t *testing.T) {
	var log []string
	b := &bench{report: newReport(machine{}, io.Discard)}
	err := b.run(t.Context(), race{turns: 4, cold: true, entrants: []entrant{
		recorded("a", 0, 0, &log), recorded("b", 2, 0, &log), recorded("c", 0, 2, &log),
		{key: "d", name: "d", open: func(context.Context) (lap, func(), error) { return nil, nil, errors.New("not here") }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	// In the second turn b does not take part, and c falls.
	if got := strings.Join(log, ""); got != "abc"+"ca"+"ab"+"a" {
		t.Errorf("the order was %s", got)
	}
	var out bytes.Buffer
	b.report.Sections[0].print(&out)
	for _, want := range []string{"absent: it fell over", "absent: not here"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, &out)
		}
	}
	if got := b.report.Figures["a.p50"]; got != 1 {
		t.Errorf("the median of a is %v", got)
	}
	if _, there := b.report.Figures["d.p50"]; there {
		t.Error("what was not measured has a figure")
	}
}

func TestBlocksRunOneLapAfterTheOther(t *testing.T) {
	var log []string
	b := &bench{report: newReport(machine{}, io.Discard)}
	err := b.run(t.Context(), race{turns: 2, block: 3, cold: true, entrants: []entrant{recorded("a", 0, 0, &log), recorded("b", 0, 0, &log)}})
	if got := strings.Join(log, ""); err != nil || got != "aaabbb"+"bbbaaa" {
		t.Errorf("the order was %s, %v", got, err)
	}
}

func TestBarsSayByHowMuchTheyAreMissed(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	atMost, atLeast := bar{limit: 2.5}, bar{limit: 8, atLeast: true}
	for _, c := range []struct {
		bar  bar
		v    *float64
		want string
	}{
		{atMost, at(2.5), "met"},
		{atMost, at(5), "**missed**, by 2.00×"},
		{atLeast, at(8), "met"},
		{atLeast, at(2), "**missed**, by 4.00×"},
		{atLeast, nil, "not measured"},
	} {
		if got := c.bar.verdict(c.v); got != c.want {
			t.Errorf("%+v of %v: %s", c.bar, c.v, got)
		}
	}
}

func TestEveryBarHasAFigureOfItsOwn(t *testing.T) {
	var seen []string
	for _, b := range bars() {
		if slices.Contains(seen, b.figure) {
			t.Errorf("%s: %s is another bar's figure", b.what, b.figure)
		}
		seen = append(seen, b.figure)
	}
}

func TestAReportIsReadAsItWasSaved(t *testing.T) {
	r := newReport(machine{Commit: "abc"}, io.Discard)
	r.add(section{Title: "A table", Columns: []string{"what"}, Rows: [][]string{{"a|b"}}})
	r.set("x.p50", 1.5)
	r.set("y.p50", math.NaN())
	file := t.TempDir() + "/report.json"
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	again, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Figures) != 1 || again.Figures["x.p50"] != 1.5 || again.Machine.Commit != "abc" {
		t.Errorf("%+v", again)
	}
	var text bytes.Buffer
	again.Sections[0].markdown(&text, 2)
	if want := "\n## A table\n\n| what |\n|---|\n| a\\|b |\n"; text.String() != want {
		t.Errorf("%q", &text)
	}
}

func TestTheTreeIsToldApartByDistance(t *testing.T) {
	child := exec.CommandContext(t.Context(), "cat")
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := tree(os.Getpid())
	if err := errors.Join(err, in.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	server, below := found[kindServer], found[kindForkServer]
	if len(server) != 1 || len(below) != 1 || server[0].rss <= below[0].rss {
		t.Errorf("%+v", found)
	}
}

func TestWhatWasTimedIsOneTable(t *testing.T) {
	r := newReport(machine{}, io.Discard)
	r.add(section{Title: "One", About: "About one.", Columns: timedColumns, Timed: true, Rows: [][]string{{"a", "1", "2", "3", "1.00"}}})
	r.add(section{Title: "Memory", Columns: []string{"what"}, Rows: [][]string{{"m"}}})
	r.add(section{Title: "Two", Columns: timedColumns, Timed: true, Rows: [][]string{{"b", "absent: why"}}})
	var text bytes.Buffer
	r.tables(&text, 2)
	want := "| **One** |  |  |  |  |\n| a | 1 | 2 | 3 | 1.00 |\n| **Two** |  |  |  |  |\n| b | absent: why |  |  |  |\n\n**One.** About one.\n"
	if !strings.Contains(text.String(), want) || strings.Count(text.String(), "\n## ") != 2 {
		t.Errorf("%s", &text)
	}
}
