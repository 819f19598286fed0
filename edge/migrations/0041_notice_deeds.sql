-- When and from where the last deed of a notice was done, for its owner to recognise it by. Noted after the response
-- of the deed; where `noted` is behind `deeds`, it isn't known.

ALTER TABLE notices ADD COLUMN happened_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notices ADD COLUMN browser TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN country TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;
