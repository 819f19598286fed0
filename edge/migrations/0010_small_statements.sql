-- What the hourly cron looks for is found by an index, so that a large table does not hold it up.

-- Accounts that were never confirmed, the oldest first.
CREATE INDEX IF NOT EXISTS accounts_unconfirmed ON accounts (created_at) WHERE state = 'unconfirmed';

-- Sealed authenticator secrets by the secret that sealed them, whose name they begin with (`kid.`);
-- accounts.address_hash begins with one too, and has its index already.
CREATE INDEX IF NOT EXISTS accounts_by_totp_secret ON accounts (totp_secret) WHERE totp_secret IS NOT NULL;
