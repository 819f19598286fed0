-- When the emails of a kind that an account has had will have drained from its bucket.
ALTER TABLE notices ADD COLUMN drained_at INTEGER NOT NULL DEFAULT 0;
