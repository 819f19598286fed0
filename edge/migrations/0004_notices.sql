-- Notices to the owner of an account, written in the transaction of the deed that they tell of and
-- mailed afterwards: no deed waits for a mail.

CREATE TABLE notices (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- What happened; a kind that happens several times before its mail is told of once.
  kind       TEXT    NOT NULL,
  -- How often it happened, and how many of those a mail has told of.
  deeds      INTEGER NOT NULL DEFAULT 1,
  told       INTEGER NOT NULL DEFAULT 0,
  -- Not mailed before.
  due_at     INTEGER NOT NULL,
  -- Attempts at mailing since it last happened.
  attempts   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_by_time ON notices (due_at);

-- What housekeeping removes, found without reading every account.
CREATE INDEX accounts_unconfirmed ON accounts (created_at) WHERE state = 'unconfirmed';
