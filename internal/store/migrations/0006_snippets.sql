-- What exactly was saved as each snippet. The snippets themselves are files.

CREATE TABLE snippets (
    name TEXT PRIMARY KEY,
    pin  BLOB NOT NULL -- SHA-256
) STRICT, WITHOUT ROWID;

-- The snippet that the code of a request is of, and its pin; empty for code that came with
-- the call.
ALTER TABLE requests ADD COLUMN snippet TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN pin BLOB;
