-- What the owner of an account is told when a scan ends: by email, and by a webhook. No address is in any of it.

ALTER TABLE accounts ADD COLUMN scan_mail INTEGER NOT NULL DEFAULT 1 CHECK (scan_mail IN (0, 1));

-- Where an account is told, and how that went lately.
CREATE TABLE webhooks (
  account_id      TEXT    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  url             TEXT    NOT NULL,
  -- Names of secrets, which are derived: the one that signs, and the one before it, which signs too for a while.
  secret          TEXT    NOT NULL,
  previous_secret TEXT    NOT NULL DEFAULT '',
  previous_until  INTEGER NOT NULL DEFAULT 0,
  -- Attempts that failed since the last one that did not, and before when there is no other.
  failures        INTEGER NOT NULL DEFAULT 0,
  free_at         INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_deliveries (
  account_id   TEXT    NOT NULL REFERENCES webhooks (account_id) ON DELETE CASCADE,
  -- `webhook-id`: the same with each attempt.
  id           TEXT    NOT NULL,
  state        TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  kind         TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  -- Of the last attempt: when, the HTTP status if there was one, and what else went wrong.
  attempted_at INTEGER,
  status       INTEGER,
  problem      TEXT,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (account_id, attempts, created_at)
  WHERE state = 'pending';

-- A scan ends in several places; each of them is told of, in its own transaction.
CREATE TRIGGER scan_ended AFTER UPDATE OF ended_at ON scans
WHEN OLD.ended_at IS NULL AND NEW.state IN ('completed', 'expired')
BEGIN
  INSERT INTO notices (account_id, kind, due_at)
    SELECT id, 'scan_ended', NEW.ended_at FROM accounts WHERE id = NEW.account_id AND scan_mail = 1
    ON CONFLICT (account_id, kind) DO UPDATE
      SET deeds = deeds + 1, attempts = 0, due_at = max(due_at, excluded.due_at);
  INSERT OR IGNORE INTO webhook_deliveries (account_id, id, kind, created_at, body)
    SELECT account_id, replace(NEW.id, 'scan_', 'msg_'), 'scan.' || NEW.state, NEW.ended_at,
      json_object(
        'type', 'scan.' || NEW.state,
        'timestamp', strftime('%Y-%m-%dT%H:%M:%SZ', NEW.ended_at, 'unixepoch'),
        'data', json_object(
          'id', NEW.id, 'state', NEW.state, 'total', NEW.total, 'answered', NEW.answered,
          'counts', json_object(
            'true', NEW.accepted, 'false', NEW.refused, 'invalid_format', NEW.invalid_format,
            'domain_not_found', NEW.domain_not_found, 'no_mx_records', NEW.no_mx_records,
            'smtp_connect_error', NEW.smtp_connect_error, 'smtp_timeout', NEW.smtp_timeout,
            'blocked_by_provider', NEW.blocked_by_provider, 'fatal_exception', NEW.fatal_exception)))
    FROM webhooks WHERE account_id = NEW.account_id
      AND 1000 > (SELECT count(*) FROM webhook_deliveries d
        WHERE d.account_id = NEW.account_id AND d.state = 'pending');
END;
