-- A thief who replaces a key has its new text: a recovery suspends it like a key that was made then. Unix seconds; 0: never.

ALTER TABLE named_keys ADD COLUMN replaced_at INTEGER NOT NULL DEFAULT 0;
