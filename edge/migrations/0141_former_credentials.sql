-- A thief may change the password and the second factor, and the address after it. For a week an undo of the change accepts
-- what the account had before.

CREATE TABLE former_credentials (
  account_id    TEXT    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  password_hash TEXT    NOT NULL,
  -- Sealed; NULL where two-factor authentication was off.
  totp_secret   TEXT,
  -- Unix seconds.
  expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX former_credentials_by_expiry ON former_credentials (expires_at);

-- The first change of a week counts: later ones may be the thief's. A secret that is sealed anew is the same.
CREATE TRIGGER credentials_before_a_change
BEFORE UPDATE OF password_hash, totp_secret ON accounts
WHEN OLD.confirmed_at IS NOT NULL AND NEW.deleted_at IS NULL
  AND (NEW.password_hash IS NOT OLD.password_hash
    OR (NEW.totp_secret IS NULL) <> (OLD.totp_secret IS NULL))
BEGIN
  DELETE FROM former_credentials WHERE account_id = OLD.id AND expires_at <= unixepoch();
  INSERT OR IGNORE INTO former_credentials (account_id, password_hash, totp_secret, expires_at)
  VALUES (OLD.id, OLD.password_hash, OLD.totp_secret, unixepoch() + 7 * 86400);
END;

-- Those of the account when the change began; empty where they were the same.
ALTER TABLE email_changes ADD COLUMN former_password_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE email_changes ADD COLUMN former_totp_secret TEXT;
