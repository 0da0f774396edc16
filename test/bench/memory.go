//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// footprint is what the kernel counts for a process, in MB.
type footprint struct{ private, pss, rss float64 }

// memory measures idle servers: after some calls, once the pool is full again.
func memory(ctx context.Context, b *bench) error {
	s := section{
		Title: "Memory of an idle server",
		About: "After calls, with the pool full again. Private is what would be freed with that process alone (Private_Clean and Private_Dirty of smaps_rollup); " +
			"PSS shares out what several processes use. Each row is the mean of the processes of its kind.",
		Columns: []string{"what", "processes", "private MB", "PSS MB", "RSS MB"},
	}
	b.idle(ctx, &s, "memory.plain", "plain", printCode, printAnswer, nil)
	venv, err := b.tool(ctx, "data")
	frame, err2 := b.program("frame.py")
	if err == nil && err2 == nil {
		b.idle(ctx, &s, "memory.data", "pandas preloaded", frame, frameAnswer, []string{"--python", venv, "--preload", "pandas"})
	}
	b.report.add(s)
	return ctx.Err()
}

// idle adds the rows of a server with these flags.
func (b *bench) idle(ctx context.Context, s *section, key, name, code, want string, flags []string) {
	fail := func(err error) { s.Rows = append(s.Rows, []string{name, "absent: " + reason(err)}) }
	if err := b.hasFlags(ctx, flags); err != nil {
		fail(err)
		return
	}
	session, pid, err := b.gearboxSession(ctx, eras[len(eras)-1], flags...)
	if err != nil {
		fail(err)
		return
	}
	defer func() { _ = session.Close() }()
	if err := warmUp(ctx, session, code, want); err != nil {
		fail(err)
		return
	}
	all, err := tree(pid)
	if err != nil {
		fail(err)
		return
	}
	for _, kind := range kinds {
		row := []string{name + ": " + kind, "none"}
		if found := all[kind]; len(found) > 0 {
			m := mean(found)
			row = []string{row[0], strconv.Itoa(len(found)), number(m.private), number(m.pss), number(m.rss)}
			b.report.set(key+"."+kind, m.private)
		}
		s.Rows = append(s.Rows, row)
	}
}

// kinds are the processes of a server: itself, a fork server for each template,
// and below that two for each child.
var kinds = []string{kindServer, kindForkServer, kindReaper, kindChild}

const (
	kindServer     = "server"
	kindForkServer = "fork server"
	kindReaper     = "reapers"
	kindChild      = "parked children"
)

// kindOf tells a process by how far from the server it is and by its number in its
// own namespace: the reaper is the first there.
func kindOf(distance, number int) string {
	switch {
	case distance == 0:
		return kindServer
	case distance == 1:
		return kindForkServer
	case number == 1:
		return kindReaper
	default:
		return kindChild
	}
}

// warmUp calls often enough that everything is as it is in use.
func warmUp(ctx context.Context, session *mcp.ClientSession, code, want string) error {
	const calls, quiet = 20, time.Second
	for range calls {
		if _, err := execute(ctx, session, code, want); err != nil {
			return err
		}
		rest(ctx, pace)
	}
	rest(ctx, quiet)
	return ctx.Err()
}

func measure(pid int) (footprint, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return footprint{}, err
	}
	var f footprint
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[2] != "kB" {
			continue
		}
		kb, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return f, err
		}
		switch words[0] {
		case "Private_Clean:", "Private_Dirty:":
			f.private += kb / 1024
		case "Pss:":
			f.pss = kb / 1024
		case "Rss:":
			f.rss = kb / 1024
		}
	}
	return f, nil
}

func mean(all []footprint) footprint {
	var sum footprint
	for _, f := range all {
		sum.private, sum.pss, sum.rss = sum.private+f.private, sum.pss+f.pss, sum.rss+f.rss
	}
	n := float64(len(all))
	return footprint{sum.private / n, sum.pss / n, sum.rss / n}
}

// lines counts the lines of a program, for people.
func lines(code string) string { return strconv.Itoa(strings.Count(code, "\n")) }
