package main

import (
	"fmt"
	"strconv"
	"strings"
)

const preface = `# Code mode, counted

Written by ` + "`make bench-codemode`" + `, which does every task for real in both ways; do not edit it. Nothing here is timed.

**Directly**, a client has the three servers configured and calls their tools one by one; calls that do not need each other
share a round trip. **By programs**, the client has Gearbox alone: the model searches for tools or reads of them by name, then
writes one program, or has one tool called where one call is all it takes. Both are scripted traces: what a model would say is fixed, what it
would read is what the real servers answer, and both have to come to the same result. A model that errs, thinks aloud or
searches twice pays more, in either way.

Everything is counted in characters. **Written** are the names and arguments of calls, **read** are the texts of answers.
The **definitions** are what stands in the prompt before anything is asked: name, description and input schema of each tool,
and the servers' instructions: %s characters directly, %s with Gearbox. **Context** is what all turns of the model
together begin with, as is paid for without a cache: a turn reads the definitions and everything before it.

`

// document is the table, in Markdown.
func document(rows []result, facts []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, preface, number(rows[0].direct.Defined), number(rows[0].code.Defined))
	for _, f := range facts {
		b.WriteString("- " + f + "\n")
	}
	b.WriteString("\nEach cell is directly / by a program, and the smaller one stands in bold.\n\n" +
		"| task | round trips | written | read | written and read | with the definitions | context |\n|---|---|---|---|---|---|---|\n")
	var direct, code tally
	wins := 0
	for _, r := range rows {
		b.WriteString(row(r.name, r.direct, r.code))
		direct, code = direct.plus(r.direct), code.plus(r.code)
		if r.code.exchanged() < r.direct.exchanged() {
			wins++
		}
	}
	b.WriteString(row("**all, each in a conversation of its own**", direct, code))
	fmt.Fprintf(&b, `
Of what is written and read alone, programs take less in %d of %d tasks, and direct calls in %d: those of one call, or of
several with short answers, where finding a tool costs more than it saves. With what stands in the prompt that turns around
here, where three servers are configured and few of their tools used; a client that loads definitions only when they are
needed, or that has one small server, pays less for direct calls than this table says.
`, wins, len(rows), len(rows)-wins)
	return b.String()
}

func row(name string, direct, code tally) string {
	cells := []string{name}
	for _, of := range []func(tally) int{
		func(t tally) int { return t.Trips }, func(t tally) int { return t.Written }, func(t tally) int { return t.Read },
		tally.exchanged, tally.with, func(t tally) int { return t.Context },
	} {
		a, b := number(of(direct)), number(of(code))
		switch {
		case of(direct) < of(code):
			a = "**" + a + "**"
		case of(code) < of(direct):
			b = "**" + b + "**"
		}
		cells = append(cells, a+" / "+b)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func (t tally) plus(o tally) tally {
	return tally{t.Defined + o.Defined, t.Written + o.Written, t.Read + o.Read, t.Trips + o.Trips, t.Context + o.Context}
}

// number has a comma between thousands.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
