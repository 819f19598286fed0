-- Throttles that drain with time (leaky buckets), in place of waits that only quiet could end.

DROP TABLE throttles;

CREATE TABLE throttles (
  -- What is attempted, and a keyed hash of by whom or on whom.
  key          TEXT    NOT NULL PRIMARY KEY,
  -- When all attempts so far will have drained; from then on the row says nothing.
  drained_at   INTEGER NOT NULL,
  -- The attempt that was admitted last: how a batch knows that it was its own.
  last_attempt TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX throttles_by_time ON throttles (drained_at);
