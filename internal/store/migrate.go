package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// migrations make the schema, each in one transaction, in the order of their numbers.
// A published one is never changed: what follows it is a new file. Versions of Gearbox
// that know fewer are refused, so a migration need not keep them working; those that
// are running while it is made go on until they end, so it must not take away what
// they use.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID tells file(1) and this package whose database it is: "Grbx".
const applicationID = 0x47726278

// migration is one step of the schema.
type migration struct {
	number int
	name   string
	sql    string
}

// steps are the migrations in order; their numbers count from 1 without gaps.
func steps(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // in lexical order
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "migrations/"), ".sql")
		digits, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(digits); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s: its number has to be %d", file, i+1)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{i + 1, name, string(text)})
	}
	return all, nil
}

// history is the table of what was done to the schema. It comes before the first
// migration, so that whoever meets a later schema can say whose it is.
const history = `CREATE TABLE IF NOT EXISTS migrations (
    number  INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    version TEXT NOT NULL, -- of the Gearbox that made it
    at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) STRICT`

// migrate brings the schema up to date. Several processes may do so at once: each step
// looks at the number under the write lock.
func migrate(ctx context.Context, c *sql.Conn, all []migration, version string) error {
	for {
		done, err := migrateOnce(ctx, c, all, version)
		if err != nil || done {
			return err
		}
	}
}

// migrateOnce makes the next step, if there is one.
func migrateOnce(ctx context.Context, c *sql.Conn, all []migration, version string) (done bool, err error) {
	// Most starts find everything done, and need no lock for that.
	if have, err := checkSchema(ctx, c, all); err != nil || have == len(all) {
		return true, err
	}
	if err := execute(ctx, c, "BEGIN IMMEDIATE"); err != nil {
		return false, fmt.Errorf("lock the records: %w", err)
	}
	defer func() {
		if err != nil {
			_ = execute(context.WithoutCancel(ctx), c, "ROLLBACK") // fails when SQLite has done so already
		}
	}()
	have, err := checkSchema(ctx, c, all)
	if err != nil {
		return false, err
	}
	if have < len(all) {
		if err := all[have].run(ctx, c, version); err != nil {
			return false, fmt.Errorf("migration %s: %w", all[have].name, err)
		}
	}
	return false, execute(ctx, c, "COMMIT")
}

func (m migration) run(ctx context.Context, c *sql.Conn, version string) error {
	if err := execute(ctx, c, history, m.sql, fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", m.number)); err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, "INSERT INTO migrations (number, name, version) VALUES (?, ?, ?)", m.number, m.name, version)
	return err
}

// checkSchema is the number of the last migration that was made. A later one than are
// known is [ErrNewer], and what is no database of ours [ErrForeign].
func checkSchema(ctx context.Context, c *sql.Conn, all []migration) (int, error) {
	var have, app, tables int
	err := c.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version, pragma_application_id`).Scan(&have, &app, &tables)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the version of the records: %w", err)
	case app != applicationID && (app != 0 || have != 0 || tables != 0):
		return 0, fmt.Errorf("%w: it belongs to another program", ErrForeign)
	case have > len(all):
		return 0, fmt.Errorf("%w: they have schema %d, made by Gearbox %s, and this version knows schemas up to %d; start that version or a later one, or another --data-dir; nothing was changed",
			ErrNewer, have, author(ctx, c, have), len(all))
	}
	return have, nil
}

// author is the version that made a schema, as far as it says so.
func author(ctx context.Context, c *sql.Conn, number int) string {
	var version string
	if err := c.QueryRowContext(ctx, "SELECT version FROM migrations WHERE number = ?", number).Scan(&version); err != nil || version == "" {
		return "(a version that it does not name)"
	}
	return version
}

func execute(ctx context.Context, c *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
