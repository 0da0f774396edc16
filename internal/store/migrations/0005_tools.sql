-- The tools of other servers as they were first seen, or as a human last accepted them.

CREATE TABLE tools (
    server     TEXT NOT NULL,
    name       TEXT NOT NULL, -- as the server spells it
    definition TEXT NOT NULL, -- JSON
    PRIMARY KEY (server, name)
) STRICT, WITHOUT ROWID;
