package store_test

import (
	"database/sql"
	"testing"
)

// refuseEvents makes the second half of every commit fail.
const (
	refuseEvents = "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END"
	allowEvents  = "DROP TRIGGER broken"
)

// tamper changes the database behind the store's back and returns what changes it back.
func tamper(t testing.TB, path, now, later string) func() {
	t.Helper()
	run := func(statements string) {
		db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=5000")
		if err == nil {
			_, err = db.ExecContext(t.Context(), statements)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	run(now)
	return func() { run(later) }
}
