-- What operators decided about single addresses and domains (tools/admin). Each is looked up by the statement that
-- registers or confirms an account; both tables are empty nearly everywhere.

-- Addresses that may have an account beside another spelling of their mailbox, by their keyed hash. In the directory.
CREATE TABLE allowed_addresses (
  address_hash TEXT PRIMARY KEY,
  allowed_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Domains whose new accounts get no welcome checks, in lower case. In every database.
CREATE TABLE domains_without_welcome (
  domain TEXT PRIMARY KEY
) WITHOUT ROWID;
