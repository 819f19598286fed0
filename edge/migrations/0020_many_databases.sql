-- Accounts over several databases. Every database gets these tables; the directory and the throttles are used
-- in the first one only.

-- An account's id now begins with the number of its database. Accounts of before have random ids, which would
-- lead elsewhere: there must be none.
CREATE TABLE accounts_of_before (
  number INTEGER NOT NULL CONSTRAINT accounts_of_before_cannot_be_carried_over CHECK (number = 0)
) STRICT;
INSERT INTO accounts_of_before SELECT count(*) FROM accounts;
DROP TABLE accounts_of_before;

-- The directory: where the account of an address is. Asked where only an address is known.
CREATE TABLE addresses (
  address_hash TEXT    NOT NULL PRIMARY KEY,
  account_id   TEXT    NOT NULL,
  -- Set before the account is confirmed: until then nothing was handed out for the id.
  confirmed    INTEGER NOT NULL DEFAULT 0 CHECK (confirmed IN (0, 1)),
  -- When it was entered, in unix seconds.
  claimed_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX addresses_unconfirmed ON addresses (claimed_at) WHERE confirmed = 0;

-- The id of the deleted account, until the directory has forgotten it.
ALTER TABLE tombstones ADD COLUMN account_id TEXT;
CREATE INDEX tombstones_to_be_told ON tombstones (address_hash) WHERE account_id IS NOT NULL;

-- A row in, a row out: without an index, each costs one row written. An account's leases lie side by side.
DROP TABLE leases;

CREATE TABLE leases (
  id         TEXT    NOT NULL,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The day whose allowance it holds.
  day        INTEGER NOT NULL,
  source     TEXT    NOT NULL CHECK (source IN ('daily', 'welcome')),
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;
