-- An account's scans by their end, for its events.
CREATE INDEX scans_ended_by_account ON scans (account_id, ended_at, id) WHERE ended_at IS NOT NULL;
