-- What exactly was saved as each snippet. The snippets themselves are files.

CREATE TABLE snippets (
    name TEXT PRIMARY KEY,
    pin  BLOB NOT NULL -- SHA-256
) STRICT, WITHOUT ROWID;
