-- Accounts, their allowances, and the links mailed to them. Times are unix seconds, days are counted
-- from 1970-01-01 in UTC. D1 binds numbers as doubles: STRICT turns them back into integers or fails.

CREATE TABLE plans (
  name           TEXT    NOT NULL PRIMARY KEY,
  unlimited      INTEGER NOT NULL DEFAULT 0 CHECK (unlimited IN (0, 1)),
  daily_checks   INTEGER NOT NULL CHECK (daily_checks >= 0),
  daily_scans    INTEGER NOT NULL CHECK (daily_scans >= 0),
  -- Granted once, on confirmation.
  welcome_checks INTEGER NOT NULL CHECK (welcome_checks >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO plans (name, unlimited, daily_checks, daily_scans, welcome_checks) VALUES
  ('free',      0,  100,  1, 50),
  ('pro',       0, 5000, 20, 50),
  ('unlimited', 1,    0,  0,  0);

CREATE TABLE accounts (
  -- 16 hexadecimal digits, random.
  id              TEXT    NOT NULL PRIMARY KEY,
  -- Keyed hash of the folded address: how an account is found by its address.
  address_hash    TEXT    NOT NULL UNIQUE,
  -- As typed at registration: where mail goes.
  email           TEXT    NOT NULL,
  display_name    TEXT    NOT NULL DEFAULT '',
  -- PHC string, argon2id.
  password_hash   TEXT    NOT NULL,
  state           TEXT    NOT NULL DEFAULT 'unconfirmed'
                  CHECK (state IN ('unconfirmed', 'confirmed', 'deactivated')),
  plan            TEXT    NOT NULL DEFAULT 'free' REFERENCES plans (name),
  -- The API key is derived from the id and this number: rotation is + 1.
  key_version     INTEGER NOT NULL DEFAULT 1,
  key_active      INTEGER NOT NULL DEFAULT 1 CHECK (key_active IN (0, 1)),
  -- Every session names this number: + 1 ends all of them.
  session_version INTEGER NOT NULL DEFAULT 1,
  created_at      INTEGER NOT NULL,
  confirmed_at    INTEGER,

  -- The ledger (store/ledger.rs). Checks charged to the daily allowance of `day`; when the first
  -- charge of a later day arrives, the pair moves to `previous_*`, so that a check that was leased
  -- before midnight is still charged to the day it was leased on.
  day              INTEGER NOT NULL DEFAULT 0,
  daily_charged    INTEGER NOT NULL DEFAULT 0 CHECK (daily_charged >= 0),
  previous_day     INTEGER NOT NULL DEFAULT 0,
  previous_charged INTEGER NOT NULL DEFAULT 0 CHECK (previous_charged >= 0),
  welcome_left     INTEGER NOT NULL DEFAULT 0 CHECK (welcome_left >= 0),
  scan_credits     INTEGER NOT NULL DEFAULT 0 CHECK (scan_credits >= 0)
) STRICT, WITHOUT ROWID;

-- A lease holds one check of the allowance while an origin is being asked. It ends by being settled
-- (charged or released) or by expiring; either way once.
CREATE TABLE leases (
  id         TEXT    NOT NULL PRIMARY KEY,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The day whose allowance it holds.
  day        INTEGER NOT NULL,
  source     TEXT    NOT NULL CHECK (source IN ('daily', 'welcome')),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX leases_by_account ON leases (account_id, source, day, expires_at);
CREATE INDEX leases_by_expiry ON leases (expires_at);

-- Links mailed to an account; only a SHA-256 of the token is kept.
CREATE TABLE mailed_tokens (
  hash       TEXT    NOT NULL PRIMARY KEY,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  purpose    TEXT    NOT NULL CHECK (purpose IN ('confirm', 'reset')),
  expires_at INTEGER NOT NULL,
  -- A newer link voids older ones.
  UNIQUE (account_id, purpose)
) STRICT, WITHOUT ROWID;

CREATE INDEX mailed_tokens_by_expiry ON mailed_tokens (expires_at);
