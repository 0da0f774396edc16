package store

import (
	"context"
	"database/sql"
	"errors"
)

// statements are those that commits use, compiled once.
type statements struct {
	beginNow, commitNow, rollbackNow                  *sql.Stmt
	create, request, file                             *sql.Stmt
	move, finish, result, forget, forgetFiles         *sql.Stmt
	question, until, answer, unanswered, own, pending *sql.Stmt
	readHead, insertEvent                             *sql.Stmt
	stateOf, free, vacuum                             *sql.Stmt
	dropRequest, dropFiles, dropResult, dropOperation *sql.Stmt
	dropApproval, forgetApproval, forgets             *sql.Stmt
	keepTool, acceptTool, lastSeen, trimTools         *sql.Stmt
	keepSnippet, dropSnippet                          *sql.Stmt

	all []*sql.Stmt
}

// close is needed before the connection is closed, which would else go on in secret.
func (s *statements) close() error {
	var errs []error
	for _, statement := range s.all {
		errs = append(errs, statement.Close())
	}
	s.all = nil
	return errors.Join(errs...)
}

func (s *statements) prepare(ctx context.Context, c *sql.Conn) error {
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&s.beginNow, "BEGIN IMMEDIATE"},
		{&s.commitNow, "COMMIT"},
		{&s.rollbackNow, "ROLLBACK"},
		{&s.create, `INSERT INTO operations (id, principal, instance, state, language, gear, client_name, client_version, client_session, code_sha256, created, size)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.request, "INSERT INTO requests (n, code, stdin, variables, timeout, gear, snippet, pin) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
		{&s.file, "INSERT INTO files (n, position, path, data) VALUES (?, ?, ?, ?)"},
		{&s.move, "UPDATE operations SET state = ? WHERE id = ? AND state = ?"},
		{&s.finish, `UPDATE operations SET state = ?3, size = iif(?8, 0, size) + ?4,
				status = coalesce(?5, status), exit_code = coalesce(?6, exit_code), finished = coalesce(?7, finished)
			WHERE id = ?1 AND state = ?2`},
		{&s.result, `INSERT INTO results (n, result, stdout_head, stdout_tail, stdout_total, stderr_head, stderr_tail, stderr_total)
			SELECT n, ?, ?, ?, ?, ?, ?, ? FROM operations WHERE id = ?
			ON CONFLICT DO UPDATE SET result = coalesce(excluded.result, result),
				stdout_head = iif(excluded.stdout_total IS NULL, stdout_head, excluded.stdout_head),
				stdout_tail = iif(excluded.stdout_total IS NULL, stdout_tail, excluded.stdout_tail),
				stdout_total = coalesce(excluded.stdout_total, stdout_total),
				stderr_head = iif(excluded.stderr_total IS NULL, stderr_head, excluded.stderr_head),
				stderr_tail = iif(excluded.stderr_total IS NULL, stderr_tail, excluded.stderr_tail),
				stderr_total = coalesce(excluded.stderr_total, stderr_total)`},
		{&s.forget, "UPDATE requests SET code = '', stdin = NULL, variables = NULL WHERE n = (SELECT n FROM operations WHERE id = ?)"},
		{&s.forgetFiles, "DELETE FROM files WHERE n = (SELECT n FROM operations WHERE id = ?)"},
		{&s.forgetApproval, "DELETE FROM approvals WHERE n = (SELECT n FROM operations WHERE id = ?)"},
		{&s.question, `INSERT INTO approvals (hash, question, n) SELECT ?, ?, n FROM operations WHERE id = ?
			ON CONFLICT DO UPDATE SET hash = excluded.hash, question = excluded.question, answer = NULL`},
		{&s.until, "UPDATE operations SET until = ?, forget = max(forget, ?) WHERE id = ?"},
		{&s.forgets, "SELECT forget FROM operations WHERE id = ?"},
		{&s.answer, "UPDATE approvals SET answer = ? WHERE n = (SELECT n FROM operations WHERE id = ?)"},
		{&s.unanswered, `SELECT 1 FROM approvals a JOIN operations o ON o.n = a.n
			WHERE o.id = ? AND o.state = ? AND a.hash = ? AND a.answer IS NULL`},
		{&s.pending, `SELECT count(*) FROM (SELECT 1 FROM operations
			WHERE state = 'pending' AND principal = (SELECT principal FROM operations WHERE id = ?) LIMIT ?)`},
		{&s.own, "UPDATE operations SET instance = ? WHERE id = ?"},
		{&s.readHead, "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"},
		{&s.insertEvent, "INSERT INTO events (seq, hash, event) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"},
		{&s.stateOf, "SELECT n, state FROM operations WHERE id = ?"},
		{&s.free, "PRAGMA freelist_count"},
		{&s.vacuum, "PRAGMA incremental_vacuum(256)"},
		{&s.keepSnippet, "INSERT INTO snippets (name, pin) VALUES (?, ?) ON CONFLICT DO UPDATE SET pin = excluded.pin"},
		{&s.dropSnippet, "DELETE FROM snippets WHERE name = ?"},
		{&s.keepTool, "INSERT INTO tools (server, name, definition, seen) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
		{&s.acceptTool, `INSERT INTO tools (server, name, definition, accepted)
			SELECT ?, ?, ?, 1 + coalesce(max(accepted), 0) FROM tools WHERE accepted > 0
			ON CONFLICT DO UPDATE SET definition = excluded.definition, accepted = excluded.accepted`},
		{&s.lastSeen, "SELECT coalesce(max(seen), 0) FROM tools WHERE server = ?"},
		{&s.trimTools, `DELETE FROM tools WHERE server = ?1 AND name IN (
			SELECT name FROM tools WHERE server = ?1 AND accepted = 0 AND name NOT IN (SELECT value FROM json_each(?2))
			ORDER BY seen, name LIMIT -1 OFFSET ?3)`},
		{&s.dropRequest, "DELETE FROM requests WHERE n = ?"},
		{&s.dropFiles, "DELETE FROM files WHERE n = ?"},
		{&s.dropResult, "DELETE FROM results WHERE n = ?"},
		{&s.dropApproval, "DELETE FROM approvals WHERE n = ?"},
		{&s.dropOperation, "DELETE FROM operations WHERE n = ?"},
	} {
		var err error
		if *p.to, err = c.PrepareContext(ctx, p.sql); err != nil {
			return errors.Join(err, s.close())
		}
		s.all = append(s.all, *p.to)
	}
	return nil
}
