-- Two-factor authentication and the throttling of attempts.

-- Sealed (AES-256-GCM, the account id as associated data), base64. NULL: two-factor is off.
ALTER TABLE accounts ADD COLUMN totp_secret TEXT;
-- The same, between set-up and the first valid code.
ALTER TABLE accounts ADD COLUMN totp_pending TEXT;
-- The last accepted time step (RFC 6238 §5.2: a code works once).
ALTER TABLE accounts ADD COLUMN totp_last_step INTEGER NOT NULL DEFAULT 0;

-- One-time codes for a lost device; only SHA-256 is kept.
CREATE TABLE recovery_codes (
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  hash       TEXT NOT NULL,
  PRIMARY KEY (account_id, hash)
) STRICT, WITHOUT ROWID;

-- Attempts at something that can be guessed or abused (store/throttle.rs).
CREATE TABLE throttles (
  -- What is attempted, and a keyed hash of by whom or on whom.
  key             TEXT    NOT NULL PRIMARY KEY,
  attempts        INTEGER NOT NULL,
  -- Attempts before this time are refused.
  next_allowed_at INTEGER NOT NULL,
  -- The attempt that was admitted last: how a batch knows that it was its own.
  last_attempt    TEXT    NOT NULL,
  -- Idle until then, it is forgotten.
  expires_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX throttles_by_expiry ON throttles (expires_at);
