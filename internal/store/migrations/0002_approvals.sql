-- Questions to humans: the last one of each operation that had one, and its answer.

CREATE TABLE approvals (
    n        INTEGER PRIMARY KEY,
    hash     BLOB NOT NULL, -- of what would happen; an answer names it
    question TEXT NOT NULL, -- JSON, without the answer
    answer   TEXT           -- JSON, NULL while there is none
) STRICT;

-- Many may wait, among very many that are over.
CREATE INDEX waiting ON operations (n) WHERE state IN ('pending', 'approved');
