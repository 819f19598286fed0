-- What remains of a deleted account, so that deleting and registering again gives no fresh allowance.

CREATE TABLE tombstones (
  -- The keyed hash of the account's address, and nothing else about it.
  address_hash TEXT    NOT NULL PRIMARY KEY,
  -- Checks that it had used on its last day.
  day          INTEGER NOT NULL,
  used         INTEGER NOT NULL,
  welcome_left INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_by_expiry ON tombstones (expires_at);
