-- How many questions of one principal stand is counted whenever another one is put.

CREATE INDEX pending_of ON operations (principal) WHERE state = 'pending';
