-- Mails with reset links are made and handed over after the response, and the link before stays valid until then.

-- An address for which a reset link was asked, whether or not it has an account. The row goes with the mail, or after
-- an hour. Used in the first database only.
CREATE TABLE mail_due (
  -- Keyed hash of the address.
  address_hash TEXT    NOT NULL PRIMARY KEY,
  -- As it was typed.
  email        TEXT    NOT NULL,
  -- Not tried before, in unix seconds.
  due_at       INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A newer link whose mail is being handed over.
ALTER TABLE mailed_tokens ADD COLUMN next_hash TEXT;
ALTER TABLE mailed_tokens ADD COLUMN next_expires_at INTEGER;
CREATE INDEX mailed_tokens_next ON mailed_tokens (next_hash) WHERE next_hash IS NOT NULL;
