-- One row for each session, so that signing out ends it on the server. It is read in the statement that
-- acts on the session's behalf. Sessions from before this migration are over: people sign in again.

CREATE TABLE sessions (
  -- The `jti` of its token.
  id         TEXT    NOT NULL PRIMARY KEY,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- Such as "Firefox on Linux", and an ISO 3166 code: for its owner to recognise it by.
  browser    TEXT    NOT NULL,
  country    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

ALTER TABLE accounts DROP COLUMN session_version;
