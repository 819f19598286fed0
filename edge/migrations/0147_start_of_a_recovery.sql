-- A recovery takes effect three days after its first email, which may be late; what was made before counts back from its start.
-- Unix seconds; 0 where an earlier version started it, three days before `due_at`. `mailed_at` is 0 until the first email.

ALTER TABLE recoveries ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
