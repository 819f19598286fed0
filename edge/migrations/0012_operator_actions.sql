-- What operators did to accounts (`make admin`). A row stays when its account is deleted.
CREATE TABLE operator_actions (
  id         INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  -- The name the operator goes by on their machine, or gave with --as.
  operator   TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  -- NULL for actions on no single account.
  account_id TEXT,
  -- The plan set, the number granted; never an address.
  value      TEXT    NOT NULL DEFAULT '',
  reason     TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX operator_actions_by_account ON operator_actions (account_id, at);

-- Operators know an account by its address; without the index each look reads every account.
CREATE INDEX accounts_by_email ON accounts (lower(email));

-- Set by `make admin`: the next scheduled run emails a new confirmation link.
ALTER TABLE accounts ADD COLUMN confirmation_requested INTEGER NOT NULL DEFAULT 0
  CHECK (confirmation_requested IN (0, 1));
CREATE INDEX accounts_to_be_emailed ON accounts (id) WHERE confirmation_requested = 1;
