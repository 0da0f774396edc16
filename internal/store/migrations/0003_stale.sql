-- Questions about which the rules changed, until somebody has decided anew: servers look
-- for them every second.

CREATE INDEX stale ON operations (n) WHERE state = 'stale';
