-- Recoveries of accounts by the operator, for owners who have lost their second factor.

CREATE TABLE recoveries (
  account_id TEXT    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  -- Three days later; 0 while it takes effect, within one transaction. Unix seconds.
  due_at     INTEGER NOT NULL,
  -- When the owner was last mailed.
  mailed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX recoveries_by_time ON recoveries (due_at);

-- A sign-in shows that somebody has the second factor, which is on as long as a recovery waits. However a session starts, it
-- ends the recovery.
CREATE TRIGGER signed_in_during_recovery AFTER INSERT ON sessions
WHEN EXISTS (SELECT 1 FROM recoveries WHERE account_id = new.account_id)
BEGIN
  DELETE FROM recoveries WHERE account_id = new.account_id;
  INSERT INTO notices (account_id, kind, due_at, happened_at)
  VALUES (new.account_id, 'recovery_stopped', unixepoch(), unixepoch())
  ON CONFLICT (account_id, kind) DO UPDATE
    SET deeds = deeds + 1, attempts = 0, due_at = max(due_at, excluded.due_at),
      happened_at = excluded.happened_at, browser = '', country = '';
END;
