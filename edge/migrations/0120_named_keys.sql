-- Keys beside the account's first one, each with rights of its own. No text of a key: it is derived from the row's names
-- and the Worker's secret (docs/decisions/0002-derived-keys.md).
CREATE TABLE named_keys (
  account_id  TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- 16 hexadecimal digits, random.
  id          TEXT    NOT NULL,
  -- One more with each replacement; the text before is dead then.
  version     INTEGER NOT NULL DEFAULT 1,
  name        TEXT    NOT NULL,
  is_test     INTEGER NOT NULL,
  -- One bit for each right.
  rights      INTEGER NOT NULL,
  -- Checks a day; none: as many as the account has.
  daily_limit INTEGER,
  -- Unix seconds; 0: never.
  expires_at  INTEGER NOT NULL,
  -- Pairs of the first and the last address of a network, a JSON list; empty: any.
  networks    TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  -- Waits for its owner's confirmation after a recovery of the account.
  suspended   INTEGER NOT NULL DEFAULT 0,
  -- Last day of a charge, from 1970-01-01, and the charges of that day; the latter of limited keys only.
  day         INTEGER NOT NULL DEFAULT 0,
  charged     INTEGER NOT NULL DEFAULT 0,
  -- The last charge, which a repeat doesn't count again.
  last_charge TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

-- The named key that holds the units; none: the first key or a session.
ALTER TABLE leases ADD COLUMN key_id TEXT;
