-- How often somebody has asked whether a part is a certain one, or has sent another one in its place.
ALTER TABLE scan_parts ADD COLUMN comparisons INTEGER NOT NULL DEFAULT 0;
