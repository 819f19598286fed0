-- The last day on which a check or scan was charged to the account's current API key, for its owner; 0: none yet. Days
-- are counted from 1970-01-01 in UTC. It is written with the charge itself, never on its own.

ALTER TABLE accounts ADD COLUMN key_day INTEGER NOT NULL DEFAULT 0;
