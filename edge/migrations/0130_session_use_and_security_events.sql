-- Sessions end when they have not been used for two hours, and each account has a list of its security events.

-- Last use, unix seconds; behind by up to a quarter of an hour. A session that the release before starts has 0: its
-- `created_at` counts.
ALTER TABLE sessions ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET seen_at = unixepoch();

CREATE TABLE security_events (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Each class has rows of its own, so that events of one class push out none of another: strangers can cause failures,
  -- and the holder of a stolen session can cause deeds.
  class      TEXT    NOT NULL CHECK (class IN ('sign_in', 'deed', 'failure')),
  kind       TEXT    NOT NULL,
  -- The session of a sign-in. Of the others the day: a kind that happens several times on a day is one row.
  name       TEXT    NOT NULL,
  -- The last time, in unix seconds.
  at         INTEGER NOT NULL,
  count      INTEGER NOT NULL DEFAULT 1,
  -- Of the last time; empty where they are unknown.
  browser    TEXT    NOT NULL DEFAULT '',
  country    TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, class, kind, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX security_events_by_time ON security_events (at);

-- A hundred rows of an account in all: 50 sign-ins, 30 deeds, 20 failures.
CREATE TRIGGER security_events_stay_few AFTER INSERT ON security_events
BEGIN
  DELETE FROM security_events
  WHERE account_id = new.account_id AND class = new.class AND (kind, name) IN (
    SELECT kind, name FROM security_events WHERE account_id = new.account_id AND class = new.class
    ORDER BY at DESC LIMIT -1 OFFSET 20 + 10 * (new.class = 'deed') + 30 * (new.class = 'sign_in'));
END;

INSERT INTO security_events (account_id, class, kind, name, at, browser, country)
SELECT account_id, 'sign_in', 'signed_in', id, created_at, browser, country FROM sessions;

-- However a session starts, it is a sign-in.
CREATE TRIGGER signed_in AFTER INSERT ON sessions
BEGIN
  INSERT INTO security_events (account_id, class, kind, name, at, browser, country)
  VALUES (new.account_id, 'sign_in', 'signed_in', new.id, new.created_at, new.browser, new.country)
  ON CONFLICT (account_id, class, kind, name) DO NOTHING;
END;

-- The owner is mailed of the steps that take an account over, in the transaction of the step: each is an event too.
CREATE TRIGGER noticed_first AFTER INSERT ON notices
WHEN new.kind NOT IN ('scan_ended', 'plan_changed', 'wrong_codes')
BEGIN
  INSERT INTO security_events (account_id, class, kind, name, at)
  VALUES (new.account_id, 'deed', new.kind, date(new.happened_at, 'unixepoch'), new.happened_at)
  ON CONFLICT (account_id, class, kind, name)
  DO UPDATE SET at = excluded.at, count = count + 1, browser = '', country = '';
END;

CREATE TRIGGER noticed_again AFTER UPDATE OF deeds ON notices
WHEN new.deeds > old.deeds AND new.kind NOT IN ('scan_ended', 'plan_changed', 'wrong_codes')
BEGIN
  INSERT INTO security_events (account_id, class, kind, name, at)
  VALUES (new.account_id, 'deed', new.kind, date(new.happened_at, 'unixepoch'), new.happened_at)
  ON CONFLICT (account_id, class, kind, name)
  DO UPDATE SET at = excluded.at, count = count + 1, browser = '', country = '';
END;

-- From where it was done is noted after the response.
CREATE TRIGGER noticed_from AFTER UPDATE OF noted ON notices
WHEN new.noted > old.noted
BEGIN
  UPDATE security_events SET browser = new.browser, country = new.country
  WHERE account_id = new.account_id AND class = 'deed' AND kind = new.kind
    AND name = date(new.happened_at, 'unixepoch');
END;
