//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// document is where the report goes, from the root of the repository.
const document = "docs/benchmarks.md"

const preface = `# Benchmarks

Written by ` + "`make bench`" + `, which measures everything below in one run on one machine; do not edit it.
Ratios travel between machines; milliseconds do not. What is not there when the tool runs is named as absent.
`

const sideBySide = `Whatever stands in one part takes turns, one lap of each and again, so that a busy minute hits all alike. “× the first” is
the median, over the turns, of a row's lap divided by that of the first row of its part. The p99 of fewer than 100 laps is the slowest.`

// write makes the document anew.
func (r *report) write(file string, bars section, before *report, places *strings.Replacer) error {
	var text bytes.Buffer
	text.WriteString(preface)
	r.Machine.markdown(&text, 2)
	bars.markdown(&text, 2)
	r.tables(&text, 2)
	if len(before.Sections) > 0 {
		fmt.Fprintf(&text, "\n## Before: no pool\n\nCommit %s: each call forked a child of its own. Only what can be asked of the binary was measured.\n", before.Machine.Commit)
		before.Machine.markdown(&text, 3)
		before.tables(&text, 3)
	}
	return os.WriteFile(file, []byte(places.Replace(text.String())), 0o644)
}

// tables writes what was timed as one table, then the others.
func (r *report) tables(text *bytes.Buffer, level int) {
	all := section{Title: "Side by side", About: sideBySide, Columns: timedColumns}
	var notes bytes.Buffer
	for _, s := range r.Sections {
		if s.Timed {
			all.Rows = append(append(all.Rows, []string{"**" + s.Title + "**"}), s.Rows...)
			fmt.Fprintf(&notes, "\n**%s.** %s\n", s.Title, s.About)
		}
	}
	all.markdown(text, level)
	text.Write(notes.Bytes())
	for _, s := range r.Sections {
		if !s.Timed {
			s.markdown(text, level)
		}
	}
}

func (m machine) markdown(text *bytes.Buffer, level int) {
	section{Title: "The machine", Columns: []string{"", ""}, Rows: m.rows()}.markdown(text, level)
}
