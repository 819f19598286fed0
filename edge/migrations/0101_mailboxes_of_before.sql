-- Addresses that were confirmed before 0052 have no hash of their mailbox: the scheduled run makes it of the account's address
-- (edge/src/store/mailbox_hashes.rs). Later ones have it from the start, so this index costs no write.
CREATE INDEX addresses_without_mailbox ON addresses (account_id) WHERE confirmed = 1 AND mailbox_hash IS NULL;
