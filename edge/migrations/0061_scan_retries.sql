-- What a scan waits for: a row for each of its messages that is to be asked again. No address is here.
CREATE TABLE scan_retries (
  scan_id     TEXT    NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
  part        INTEGER NOT NULL,
  slot        INTEGER NOT NULL,
  -- Unix seconds: when the first of its addresses is asked again; when all of them are expected to have their final
  -- verdict, and at the latest.
  due_at      INTEGER NOT NULL,
  expected_at INTEGER NOT NULL,
  latest_at   INTEGER NOT NULL,
  PRIMARY KEY (scan_id, part, slot)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER scan_retries_end AFTER UPDATE OF ended_at ON scans
WHEN OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL
BEGIN
  DELETE FROM scan_retries WHERE scan_id = NEW.id;
END;

-- A scan that only waits for retries holds no place among the scans at the same time, but while a round is asked: until
-- then, unix seconds.
ALTER TABLE scans ADD COLUMN asking_until INTEGER NOT NULL DEFAULT 0;
