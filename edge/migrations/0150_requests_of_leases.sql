-- The key and the request of a check in flight, hashed, beside the key's own hash: so a key in flight is known by its
-- request, too.
ALTER TABLE leases ADD COLUMN request TEXT;
-- Units of the lease that were charged while it goes on, for results that have been given out at a deadline.
ALTER TABLE leases ADD COLUMN n_charged INTEGER NOT NULL DEFAULT 0;
