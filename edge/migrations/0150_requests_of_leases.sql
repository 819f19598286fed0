-- The key and the request of a check in flight, hashed, beside the key's own hash: so a key in flight is known by its
-- request, too.
ALTER TABLE leases ADD COLUMN request TEXT;
-- Units of the lease that were charged while it goes on, for results that have been given out at a deadline.
ALTER TABLE leases ADD COLUMN n_charged INTEGER NOT NULL DEFAULT 0;

-- A message that nobody could be asked about waits, too: positions of it that were never asked about, and its rounds
-- in a row without an answer. 0: a server has asked for patience.
ALTER TABLE scan_retries ADD COLUMN unasked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scan_retries ADD COLUMN misses INTEGER NOT NULL DEFAULT 0;
-- When a round of the scan was last recorded, or its last part came in, in unix seconds.
ALTER TABLE scans ADD COLUMN progress_at INTEGER NOT NULL DEFAULT 0;
