-- The events of one operation are asked for by its id, which only their text has. A text
-- that is no JSON any more must not keep anybody from reading or checking the others.

CREATE INDEX events_of_operation ON events (CASE WHEN json_valid(event) THEN json_extract(event, '$.operation_id') END);
