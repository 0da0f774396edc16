-- Which acceptance by a human a definition came with, counted over all servers from 1, or 0
-- where it was only seen; and in which listing of its server it was seen first.
ALTER TABLE tools ADD COLUMN accepted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tools ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;

CREATE INDEX tools_accepted ON tools (accepted) WHERE accepted > 0;
