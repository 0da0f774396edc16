package store_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

// refuseEvents makes the second half of every commit fail.
const (
	refuseEvents = "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END"
	allowEvents  = "DROP TRIGGER broken"
)

// raw opens a database without any of the store's own settings.
func raw(path string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+path+"?_busy_timeout=5000") }

func change(t testing.TB, path, statements string) {
	t.Helper()
	db, err := raw(path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), statements)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tamper changes the database behind the store's back and returns what changes it back.
func tamper(t testing.TB, path, now, later string) func() {
	t.Helper()
	change(t, path, now)
	return func() { change(t, path, later) }
}

const disarm = "DROP TRIGGER events_do_not_change; DROP TRIGGER events_are_not_deleted; "

func TestTamperingWithTheRowsIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		statement string
		seq       int64
		fault     audit.Fault
	}{
		"a flipped byte of the text": {"UPDATE events SET event = replace(event, 'requested', 'requestee') WHERE seq = 5", 5, audit.Changed},
		"a flipped byte of the hash": {"UPDATE events SET hash = CAST(x'00' || substr(hash, 2) AS BLOB) WHERE seq = 5", 5, audit.Changed},
		"a hash cut short":           {"UPDATE events SET hash = x'00' WHERE seq = 5", 5, audit.Changed},
		"a row that says nothing":    {"UPDATE events SET event = '' WHERE seq = 5", 5, audit.Changed},
		"a dropped row":              {"DELETE FROM events WHERE seq = 5", 5, audit.Missing},
		"a dropped row, and the numbers moved up": {
			"DELETE FROM events WHERE seq = 5; UPDATE events SET seq = seq - 1000 WHERE seq > 5; UPDATE events SET seq = seq + 999 WHERE seq < 0", 5, audit.Reordered,
		},
		"two rows that changed places": {"UPDATE events SET seq = -5 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 7; UPDATE events SET seq = 7 WHERE seq = -5", 5, audit.Reordered},
		"no first row":                 {"DELETE FROM events WHERE seq = 1", 1, audit.Missing},
		"a cut tail":                   {"DELETE FROM events WHERE seq > 8", 9, audit.Cut},
		"everything gone":              {"DELETE FROM events", 1, audit.Cut},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, store.Options{Dir: dir})
			for range 5 {
				kept(t, s, storetest.Small("a", "1"))
			}
			anchor, err := s.Head(t.Context())
			must(t, err)
			must(t, s.Close())
			change(t, s.Path(), disarm+c.statement)
			s = open(t, store.Options{Dir: dir})
			_, err = s.Verify(t.Context(), anchor)
			var b *audit.BrokenError
			if !errors.As(err, &b) || b.Seq != c.seq || b.Fault != c.fault {
				t.Fatalf("got %v, want %s at %d", err, c.fault, c.seq)
			}
		})
	}
}

func TestACutBelowALivingServerLeavesAGap(t *testing.T) {
	s := open(t, store.Options{})
	kept(t, s, storetest.Small("a", "1"))
	change(t, s.Path(), disarm+"DELETE FROM events WHERE seq = 2")
	kept(t, s, storetest.Small("a", "2"))
	var b *audit.BrokenError
	if _, err := s.Verify(t.Context()); !errors.As(err, &b) || b.Fault != audit.Missing || b.Seq != 2 {
		t.Errorf("got %v", err)
	}
}

func TestARecordThatGoesOnBehindACutIsFoundByItsAnchor(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	kept(t, s, storetest.Small("a", "1"))
	anchor, err := s.Head(t.Context())
	must(t, err)
	must(t, s.Close())
	change(t, s.Path(), disarm+"DELETE FROM events WHERE seq = 2")
	s = open(t, store.Options{Dir: dir})
	kept(t, s, storetest.Small("a", "2"))
	var b *audit.BrokenError
	if _, err := s.Verify(t.Context(), anchor); !errors.As(err, &b) || b.Fault != audit.Rewritten || b.Seq != 2 {
		t.Errorf("got %v", err)
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Errorf("without its anchor: %v", err)
	}
}

func TestASlipOfTheHandCannotTouchEvents(t *testing.T) {
	s := open(t, store.Options{})
	kept(t, s, storetest.Small("a", "1"))
	db, err := raw(s.Path())
	must(t, err)
	for _, statement := range []string{"DELETE FROM events", "UPDATE events SET event = 'x'", "UPDATE events SET seq = seq + 1"} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	must(t, db.Close())
	events(t, s)
}
