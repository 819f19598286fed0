-- Scans: lists that are checked in the background. No address is here: the addresses wait sealed in the
-- queue, and results are kept by position.

-- How many positions a scan may have, and how many scans may be under way at once.
ALTER TABLE plans ADD COLUMN scan_size INTEGER NOT NULL DEFAULT 200 CHECK (scan_size > 0);
ALTER TABLE plans ADD COLUMN max_scans INTEGER NOT NULL DEFAULT 1 CHECK (max_scans > 0);
UPDATE plans SET scan_size = 10000, max_scans = 3 WHERE name = 'pro';
UPDATE plans SET scan_size = 100000, max_scans = 10 WHERE name = 'unlimited';

-- Scans charged to the daily allowance of `scans_day`.
ALTER TABLE accounts ADD COLUMN scans_day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN scans_charged INTEGER NOT NULL DEFAULT 0 CHECK (scans_charged >= 0);
ALTER TABLE accounts ADD COLUMN total_scans INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN completed_scans INTEGER NOT NULL DEFAULT 0;
-- What a deleted account had used of its last day's scans.
ALTER TABLE tombstones ADD COLUMN scans_used INTEGER NOT NULL DEFAULT 0;

CREATE TABLE scans (
  -- `scan_`, then hexadecimal digits that begin with the time: newer ones are greater.
  id         TEXT    NOT NULL PRIMARY KEY,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL DEFAULT '',
  state      TEXT    NOT NULL DEFAULT 'open'
             CHECK (state IN ('open', 'running', 'completed', 'cancelled', 'expired')),
  details    INTEGER NOT NULL CHECK (details IN (0, 1)),
  total      INTEGER NOT NULL CHECK (total > 0),
  received   INTEGER NOT NULL DEFAULT 0,
  answered   INTEGER NOT NULL DEFAULT 0,
  waiting    INTEGER NOT NULL DEFAULT 0,
  -- Final verdicts by status, `true` and `false` first.
  accepted            INTEGER NOT NULL DEFAULT 0,
  refused             INTEGER NOT NULL DEFAULT 0,
  invalid_format      INTEGER NOT NULL DEFAULT 0,
  domain_not_found    INTEGER NOT NULL DEFAULT 0,
  no_mx_records       INTEGER NOT NULL DEFAULT 0,
  smtp_connect_error  INTEGER NOT NULL DEFAULT 0,
  smtp_timeout        INTEGER NOT NULL DEFAULT 0,
  blocked_by_provider INTEGER NOT NULL DEFAULT 0,
  fatal_exception     INTEGER NOT NULL DEFAULT 0,
  -- Where its unit came from, and of which day.
  source     TEXT    NOT NULL CHECK (source IN ('daily', 'credit')),
  day        INTEGER NOT NULL,
  -- Whether anything of it was handed to an origin: then cancelling gives nothing back.
  handed     INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  ended_at   INTEGER,
  -- The statement that ended it: how a transaction knows that it was its own.
  ended_by   TEXT    NOT NULL DEFAULT '',
  -- The pace: what was answered when the present window began, and the one before it.
  window_at        INTEGER NOT NULL,
  window_answered  INTEGER NOT NULL DEFAULT 0,
  previous_at      INTEGER NOT NULL,
  previous_answered INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX scans_by_account ON scans (account_id, id);
CREATE INDEX scans_under_way ON scans (created_at) WHERE ended_at IS NULL;
CREATE INDEX scans_ended ON scans (ended_at) WHERE ended_at IS NOT NULL;

-- Parts that clients have sent.
CREATE TABLE scan_parts (
  scan_id TEXT    NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
  part    INTEGER NOT NULL,
  -- Of all addresses of the part together, under a secret; empty where the part is one address.
  mac     TEXT    NOT NULL,
  -- Whether all of it is in the queue.
  sent    INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1)),
  PRIMARY KEY (scan_id, part)
) STRICT, WITHOUT ROWID;

-- The results of one message, written once.
CREATE TABLE scan_results (
  scan_id  TEXT    NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
  part     INTEGER NOT NULL,
  -- Which message of the part, and its how-maniest successor; slot -1 is what is no address.
  slot     INTEGER NOT NULL,
  round    INTEGER NOT NULL,
  -- JSON: position within the part, status, what may be told of it, and when it is asked again.
  results  TEXT    NOT NULL,
  -- Who wrote it: how a transaction knows that it was its own.
  writer   TEXT    NOT NULL,
  -- Whether the message that asks again is in the queue, if there has to be one.
  followed INTEGER NOT NULL DEFAULT 0 CHECK (followed IN (0, 1)),
  PRIMARY KEY (scan_id, part, slot, round)
) STRICT, WITHOUT ROWID;
