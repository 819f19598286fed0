-- Passkeys (WebAuthn Level 3): public keys that start a session in place of the password.
CREATE TABLE passkeys (
  account_id   TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- 32 hexadecimal digits: the beginning of the SHA-256 of the credential's id.
  id           TEXT    NOT NULL,
  -- The credential's id in base64url, by which an authenticator knows that it has one already.
  credential   TEXT    NOT NULL,
  -- A JWK.
  public_key   TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  -- Signatures so far; 0 where the authenticator counts none.
  counter      INTEGER NOT NULL,
  -- Whether it can be on several devices, which never changes.
  is_syncable  INTEGER NOT NULL CHECK (is_syncable IN (0, 1)),
  created_at   INTEGER NOT NULL,
  -- Unix seconds; 0: never.
  used_at      INTEGER NOT NULL DEFAULT 0,
  -- The session of the last sign-in: it starts with the same transaction or not at all.
  last_session TEXT    NOT NULL DEFAULT '',
  -- Waits for its owner's confirmation after a recovery of the account.
  suspended    INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1)),
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

-- Challenges that were answered, so that each is answered once. Of an open one nothing is stored.
CREATE TABLE used_challenges (
  -- SHA-256.
  hash       TEXT    NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX used_challenges_by_expiry ON used_challenges (expires_at);
