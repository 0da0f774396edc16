package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gearbox-mcp/gearbox/internal/audit"
	"github.com/gearbox-mcp/gearbox/internal/engine"
	"github.com/gearbox-mcp/gearbox/internal/store"
	"github.com/gearbox-mcp/gearbox/internal/store/storetest"
)

func TestTheRecordsArePrivateAlsoTheLogAndItsIndex(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has no modes")
	}
	dir := t.TempDir()
	check := func() {
		t.Helper()
		for _, name := range []string{store.File, store.File + "-wal", store.File + "-shm"} {
			st, err := os.Stat(filepath.Join(dir, name))
			if err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, st.Mode(), err)
			}
		}
	}
	s := open(t, store.Options{Dir: dir})
	kept(t, s, storetest.Full())
	check()
	must(t, s.Close())
	must(t, os.Chmod(s.Path(), 0o644))
	kept(t, open(t, store.Options{Dir: dir}), storetest.Full())
	check()
}

func TestADirectoryMayHaveAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e;ü&mode=memory")
	must(t, os.Mkdir(dir, 0o700))
	s := open(t, store.Options{Dir: dir})
	kept(t, s, storetest.Full())
	if _, err := os.Stat(filepath.Join(dir, store.File+"-wal")); err != nil {
		t.Error(err)
	}
}

func TestWhereThereAreNoRecordsNoneAreBegunUnlessAsked(t *testing.T) {
	dir := t.TempDir()
	_, err := store.Open(t.Context(), store.Options{Dir: dir, MustExist: true})
	if !errors.Is(err, store.ErrNoRecords) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if _, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(dir, "nowhere")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

func TestWhatIsNotOurDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"another program's": func(p string) error {
			return command(p, "CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 3")
		},
		"text":        func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("dear diary ", 1000)), 0o600) },
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), store.File)
			must(t, make(path))
			before := content(path)
			_, err := store.Open(t.Context(), store.Options{Dir: filepath.Dir(path), Version: "v1"})
			if err == nil || !strings.Contains(err.Error(), store.File) && !errors.Is(err, store.ErrForeign) {
				t.Errorf("got %v", err)
			}
			if content(path) != before {
				t.Error("it was changed")
			}
		})
	}
}

func command(path, statements string) error {
	db, err := raw(path)
	if err == nil {
		_, err = db.ExecContext(ctx(), statements)
	}
	return errors.Join(err, db.Close())
}

func content(path string) [32]byte {
	b, _ := os.ReadFile(path)
	return sha256.Sum256(b)
}

func TestRecordsOfALaterVersionAreRefusedByNameAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, store.Options{Dir: dir})
	r := kept(t, s, storetest.Full())
	must(t, s.Close())
	change(t, s.Path(), "PRAGMA user_version = 99; INSERT INTO migrations (number, name, version) VALUES (99, 'later', 'v9.9.9'); DROP TABLE results")
	before := content(s.Path())
	_, err := store.Open(t.Context(), store.Options{Dir: dir, Version: "v1.0.0"})
	if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "v9.9.9") || !strings.Contains(err.Error(), "99") {
		t.Errorf("got %v", err)
	}
	if content(s.Path()) != before {
		t.Error("it was changed")
	}
	change(t, s.Path(), "DROP TABLE migrations")
	if _, err := store.Open(t.Context(), store.Options{Dir: dir}); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "does not name") {
		t.Errorf("without its history: %v", err)
	}
	_ = r
}

func TestACommitThatAnotherProcessKeepsOutSaysSoInTime(t *testing.T) {
	s := open(t, store.Options{Wait: 1})
	db, err := raw(s.Path())
	must(t, err)
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var explained *store.Error
	if err := create(s, storetest.Small("a", "1")); !errors.Is(err, store.ErrBusy) || !errors.As(err, &explained) || explained.Hint() == "" {
		t.Errorf("got %v", err)
	}
	if _, err := s.Head(t.Context()); err != nil {
		t.Errorf("readers wait too: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	must(t, db.Close())
	kept(t, s, storetest.Small("a", "1"))
}

func TestACommitThatFailsDoesNotTakeItsNeighboursWithIt(t *testing.T) {
	s := open(t, store.Options{})
	change(t, s.Path(), "CREATE TRIGGER picky BEFORE INSERT ON requests WHEN NEW.code = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END")
	existing := kept(t, s, storetest.Small("a", "1"))
	db, err := raw(s.Path()) // holds the writer back until all stand in line
	must(t, err)
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 40 {
		r, conflict, code := storetest.Small("a", "1"), i%5 == 1, fmt.Sprint(i)
		if i%5 == 2 {
			code = "bad"
		}
		if r.Request.Code = code; conflict {
			r = existing
		}
		wg.Go(func() {
			err := create(s, r)
			switch {
			case conflict && !errors.Is(err, engine.ErrConflict), code == "bad" && !conflict && (err == nil || !strings.Contains(err.Error(), "no")),
				!conflict && code != "bad" && err != nil:
				t.Errorf("%s, conflict %v: %v", code, conflict, err)
			}
		})
	}
	if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	must(t, db.Close())
	if u, err := s.Usage(t.Context()); err != nil || u.Operations != 1+24 || len(events(t, s)) != 2+24 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestAClosedStoreAndAnEndedContextSaySo(t *testing.T) {
	s := open(t, store.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Record(ended, audit.Event{}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err) // taken at once, or not at all
	}
	must(t, s.Close())
	must(t, s.Close())
	if err := create(s, storetest.Small("a", "1")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestUnknownDurabilitiesAreRefused(t *testing.T) {
	for name, want := range map[string]store.Durability{"": store.Process, "process": store.Process, "power": store.Power} {
		if got, err := store.ParseDurability(name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := store.ParseDurability("none"); err == nil || !strings.Contains(err.Error(), "power") {
		t.Errorf("got %v", err)
	}
}
