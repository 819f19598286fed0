-- One mailbox is one account at the providers whose spellings are known (edge/src/account/mailbox.rs). Accounts of before
-- have no such hash, and stay as they are.

-- Keyed hash of the mailbox, with the version of the table of providers.
ALTER TABLE addresses ADD COLUMN mailbox_hash TEXT;
CREATE UNIQUE INDEX addresses_by_mailbox ON addresses (mailbox_hash)
  WHERE confirmed = 1 AND mailbox_hash IS NOT NULL;

-- What was used stays used under every spelling.
ALTER TABLE tombstones ADD COLUMN mailbox_hash TEXT;
CREATE INDEX tombstones_by_mailbox ON tombstones (mailbox_hash) WHERE mailbox_hash IS NOT NULL;
