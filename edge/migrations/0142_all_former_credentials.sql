-- A thief who waits until the owner's last change is a week old makes one that isn't recorded. Each change has a row now.

DROP TRIGGER credentials_before_a_change;
ALTER TABLE former_credentials RENAME TO first_former_credentials;

CREATE TABLE former_credentials (
  account_id    TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  password_hash TEXT    NOT NULL,
  -- Sealed; NULL where two-factor authentication was off.
  totp_secret   TEXT,
  -- A week after the change, unix seconds.
  expires_at    INTEGER NOT NULL
) STRICT;

INSERT INTO former_credentials (account_id, password_hash, totp_secret, expires_at)
SELECT account_id, password_hash, totp_secret, expires_at FROM first_former_credentials;
DROP TABLE first_former_credentials;

CREATE INDEX former_credentials_by_account ON former_credentials (account_id);
CREATE INDEX former_credentials_by_expiry ON former_credentials (expires_at);

-- An undo compares a password with each row, so there are five at most. A change that finds five makes them last another week
-- instead: the oldest is the owner's, whoever made the others. A secret that is sealed anew is the same.
CREATE TRIGGER credentials_before_a_change
BEFORE UPDATE OF password_hash, totp_secret ON accounts
WHEN OLD.confirmed_at IS NOT NULL AND NEW.deleted_at IS NULL
  AND (NEW.password_hash IS NOT OLD.password_hash
    OR (NEW.totp_secret IS NULL) <> (OLD.totp_secret IS NULL))
BEGIN
  DELETE FROM former_credentials WHERE account_id = OLD.id AND expires_at <= unixepoch();
  UPDATE former_credentials SET expires_at = unixepoch() + 7 * 86400
  WHERE account_id = OLD.id AND (SELECT count(*) FROM former_credentials WHERE account_id = OLD.id) >= 5;
  INSERT INTO former_credentials (account_id, password_hash, totp_secret, expires_at)
  SELECT OLD.id, OLD.password_hash, OLD.totp_secret, unixepoch() + 7 * 86400
  WHERE (SELECT count(*) FROM former_credentials WHERE account_id = OLD.id) < 5;
END;

-- Those of the account when the change began, a JSON list.
ALTER TABLE email_changes ADD COLUMN former_credentials TEXT NOT NULL DEFAULT '[]';
UPDATE email_changes SET former_credentials =
  json_array(json_object('password_hash', former_password_hash, 'totp_secret', former_totp_secret))
WHERE former_password_hash <> '';
ALTER TABLE email_changes DROP COLUMN former_password_hash;
ALTER TABLE email_changes DROP COLUMN former_totp_secret;
