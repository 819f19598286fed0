-- What was answered under an Idempotency-Key, so that a repeat is answered the same and not charged again.

-- The key of a check in flight; its mark ends with the lease.
ALTER TABLE leases ADD COLUMN idempotency TEXT;

-- Neither key nor address: hashes under a secret, and an answer that opens with the key itself. Without an index:
-- expired rows are looked for by reading all.
CREATE TABLE idempotency_keys (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The key, hashed.
  name       TEXT    NOT NULL,
  -- The key and the request, hashed.
  request    TEXT    NOT NULL,
  -- The verdict, sealed; the id of a scan; empty where the request says it all.
  answer     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;
