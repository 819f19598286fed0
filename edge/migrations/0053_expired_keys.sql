-- How far the removal of expired idempotency keys has come: the key up to which the table has been read. One row.
CREATE TABLE expired_keys_cursor (
  only_row   INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  account_id TEXT    NOT NULL,
  name       TEXT    NOT NULL
) STRICT;
