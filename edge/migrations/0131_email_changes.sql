-- A change of an account's address: asked for, confirmed from the new mailbox, and undone from the old one within a week.

CREATE TABLE email_changes (
  id          TEXT    NOT NULL PRIMARY KEY,
  account_id  TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- asked: a link is at the new mailbox. moving: it was used, and the directory is being asked. moved, undone. void: it came
  -- to nothing.
  state       TEXT    NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'moving', 'moved', 'undone', 'void')),
  new_email   TEXT    NOT NULL,
  -- SHA-256 of the token that is mailed to the new mailbox.
  token_hash  TEXT    NOT NULL UNIQUE,
  asked_at    INTEGER NOT NULL,
  -- A link for a day; after the change a week, in which it can be undone.
  expires_at  INTEGER NOT NULL,
  -- The account as it was before the change; the password's hash and the sealed secret let its owner undo it.
  old_email         TEXT NOT NULL DEFAULT '',
  old_password_hash TEXT NOT NULL DEFAULT '',
  old_totp_secret   TEXT,
  -- SHA-256 of the token that is mailed to the old mailbox; NULL until then.
  undo_hash   TEXT    UNIQUE,
  -- The old mailbox freezes the account once.
  frozen      INTEGER NOT NULL DEFAULT 0 CHECK (frozen IN (0, 1)),
  -- Whether the directory says what the account says.
  settled     INTEGER NOT NULL DEFAULT 1 CHECK (settled IN (0, 1))
) STRICT;

CREATE INDEX email_changes_by_account ON email_changes (account_id);
CREATE INDEX email_changes_by_expiry ON email_changes (expires_at);
CREATE INDEX email_changes_unsettled ON email_changes (id) WHERE settled = 0;

-- Until then nothing that decides who can use the account changes, unix seconds.
ALTER TABLE accounts ADD COLUMN frozen_until INTEGER NOT NULL DEFAULT 0;

-- What was begun before the freeze and ends after it does nothing. An undo ends the freeze. A secret that is sealed anew is
-- the same.
CREATE TRIGGER frozen_stays_as_it_is
BEFORE UPDATE OF email, password_hash, totp_secret, key_version, deleted_at ON accounts
WHEN NEW.frozen_until > unixepoch()
  AND (NEW.email IS NOT OLD.email OR NEW.password_hash IS NOT OLD.password_hash
    OR (NEW.totp_secret IS NULL) <> (OLD.totp_secret IS NULL) OR NEW.key_version IS NOT OLD.key_version
    OR NEW.deleted_at IS NOT OLD.deleted_at)
BEGIN
  SELECT RAISE(ABORT, 'the account is frozen');
END;

-- The address that an account had is nobody's until then. In the directory's database.
ALTER TABLE addresses ADD COLUMN reserved_until INTEGER;
CREATE INDEX addresses_reserved ON addresses (reserved_until) WHERE reserved_until IS NOT NULL;
