-- Questions to humans: the last one of each operation that had one, and its answer.

CREATE TABLE approvals (
    n        INTEGER PRIMARY KEY,
    hash     BLOB NOT NULL, -- of what would happen; an answer names it
    question TEXT NOT NULL, -- JSON, without the answer
    answer   TEXT           -- JSON, NULL while there is none
) STRICT;

ALTER TABLE operations ADD COLUMN until INTEGER NOT NULL DEFAULT 0; -- when the last question expires
ALTER TABLE operations ADD COLUMN forget INTEGER NOT NULL DEFAULT 0; -- code and inputs go with the end, whoever writes that

-- Very many may wait for a human, among very many that are over. Servers look every
-- second for those that were approved and those that have expired.
CREATE INDEX pending ON operations (until) WHERE state = 'pending';
CREATE INDEX approved ON operations (n) WHERE state = 'approved';
