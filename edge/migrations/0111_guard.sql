-- The sign-up guard: what an account's own forms refuse, and how often they refused. No address is here.

CREATE TABLE guard_policies (
  account_id     TEXT    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  -- JSON lists: what is refused, and domains that the owner always allows or blocks.
  refuse         TEXT    NOT NULL,
  allow_domains  TEXT    NOT NULL,
  block_domains  TEXT    NOT NULL,
  deadline_ms    INTEGER NOT NULL,
  -- Calls of hooks a day that are looked at.
  daily          INTEGER NOT NULL CHECK (daily >= 0),
  -- Path and secret of the hook are derived from it. The version before works until then, unix seconds.
  hook_version   INTEGER NOT NULL DEFAULT 1,
  previous_until INTEGER NOT NULL DEFAULT 0,
  -- Calls of hooks on that day, counted from 1970-01-01 in UTC.
  hook_day       INTEGER NOT NULL DEFAULT 0,
  hook_calls     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- For thirty days: how many sign-ups were refused for each reason.
CREATE TABLE guard_refusals (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  day        INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, reason)
) STRICT, WITHOUT ROWID;
