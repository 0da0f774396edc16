-- Operations, what was asked, what came of it, and the audit chain.
--
-- What changes at each step is in a small row of its own, so that a transition never
-- writes a program or its output again. Times are nanoseconds since 1970, UTC.

CREATE TABLE operations (
    n              INTEGER PRIMARY KEY, -- the order in which they were taken on
    id             TEXT NOT NULL UNIQUE,
    principal      TEXT NOT NULL,
    instance       TEXT NOT NULL,       -- the process that owns it
    state          TEXT NOT NULL,
    status         TEXT NOT NULL DEFAULT '',
    exit_code      INTEGER NOT NULL DEFAULT 0,
    language       TEXT NOT NULL,
    gear           TEXT NOT NULL,
    client_name    TEXT NOT NULL,
    client_version TEXT NOT NULL,
    client_session TEXT NOT NULL,
    code_sha256    BLOB NOT NULL,       -- of language and source, as in the audit events
    created        INTEGER NOT NULL,
    finished       INTEGER NOT NULL DEFAULT 0,
    size           INTEGER NOT NULL     -- bytes that requests, files and results hold for it
) STRICT;

-- Few at any time: whoever looks for the runs of dead processes finds them at once.
CREATE INDEX unfinished ON operations (instance) WHERE state <> 'finished';

CREATE TABLE requests (
    n         INTEGER PRIMARY KEY,
    code      TEXT NOT NULL,
    stdin     BLOB,
    variables TEXT,                     -- a JSON object
    timeout   INTEGER NOT NULL,         -- nanoseconds, 0 for the gear's own
    gear      TEXT NOT NULL             -- the one that the call named
) STRICT;

CREATE TABLE files (
    n        INTEGER NOT NULL,
    position INTEGER NOT NULL,
    path     TEXT NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (n, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE results (
    n            INTEGER PRIMARY KEY,
    result       TEXT,                  -- the structured answer as JSON, without the streams
    stdout_head  BLOB,
    stdout_tail  BLOB,
    stdout_total INTEGER,
    stderr_head  BLOB,
    stderr_tail  BLOB,
    stderr_total INTEGER
) STRICT;

CREATE TABLE events (
    seq   INTEGER PRIMARY KEY,
    hash  BLOB NOT NULL,
    event TEXT NOT NULL                 -- canonical JSON, seq included
) STRICT;

-- A slip of the hand must not be able to touch them. Whoever means to can remove the
-- triggers, and breaks the chain.
CREATE TRIGGER events_do_not_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'audit events are never changed'); END;

CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'audit events are never deleted'); END;
