-- How many checks of one account may be in flight at once, and the charge that an account saw last.

ALTER TABLE plans ADD COLUMN max_in_flight INTEGER NOT NULL DEFAULT 10 CHECK (max_in_flight > 0);
UPDATE plans SET max_in_flight = 100 WHERE name = 'pro';
UPDATE plans SET max_in_flight = 500 WHERE name = 'unlimited';

-- Names the last charge of a cached answer, so that a retry after a lost reply does not charge twice.
ALTER TABLE accounts ADD COLUMN last_charge TEXT NOT NULL DEFAULT '';
