-- Final verdicts of a scan in two columns of JSON, by status and by verdict. The nine columns before them are written
-- and read by the release before alone; two triggers keep both sides equal while both releases run.

ALTER TABLE scans ADD COLUMN counts TEXT NOT NULL DEFAULT
  '{"true":0,"false":0,"invalid_format":0,"domain_not_found":0,"no_mx_records":0,"smtp_connect_error":0,"smtp_timeout":0,"blocked_by_provider":0,"fatal_exception":0}';
ALTER TABLE scans ADD COLUMN by_verdict TEXT NOT NULL DEFAULT
  '{"deliverable":0,"undeliverable":0,"risky":0,"unknown":0}';

-- The release before did not count risky addresses apart from deliverable ones.
UPDATE scans SET
  counts = json_object(
    'true', accepted, 'false', refused, 'invalid_format', invalid_format, 'domain_not_found', domain_not_found,
    'no_mx_records', no_mx_records, 'smtp_connect_error', smtp_connect_error, 'smtp_timeout', smtp_timeout,
    'blocked_by_provider', blocked_by_provider, 'fatal_exception', fatal_exception),
  by_verdict = json_object(
    'deliverable', accepted, 'undeliverable', refused + invalid_format + domain_not_found + no_mx_records,
    'risky', 0, 'unknown', smtp_connect_error + smtp_timeout + blocked_by_provider + fatal_exception)
WHERE answered > 0;

-- The release before has counted: its columns are complete, because of the other trigger.
CREATE TRIGGER scan_counts_from_columns AFTER UPDATE OF accepted, refused, invalid_format, domain_not_found,
  no_mx_records, smtp_connect_error, smtp_timeout, blocked_by_provider, fatal_exception ON scans
WHEN (SELECT total(value) FROM json_each(NEW.counts)) <> NEW.accepted + NEW.refused + NEW.invalid_format
  + NEW.domain_not_found + NEW.no_mx_records + NEW.smtp_connect_error + NEW.smtp_timeout
  + NEW.blocked_by_provider + NEW.fatal_exception
BEGIN
  UPDATE scans SET
    counts = json_patch(NEW.counts, json_object(
      'true', NEW.accepted, 'false', NEW.refused, 'invalid_format', NEW.invalid_format,
      'domain_not_found', NEW.domain_not_found, 'no_mx_records', NEW.no_mx_records,
      'smtp_connect_error', NEW.smtp_connect_error, 'smtp_timeout', NEW.smtp_timeout,
      'blocked_by_provider', NEW.blocked_by_provider, 'fatal_exception', NEW.fatal_exception)),
    by_verdict = json_object(
      'deliverable', NEW.by_verdict ->> '$.deliverable' + NEW.accepted - OLD.accepted,
      'undeliverable', NEW.by_verdict ->> '$.undeliverable'
        + NEW.refused + NEW.invalid_format + NEW.domain_not_found + NEW.no_mx_records
        - OLD.refused - OLD.invalid_format - OLD.domain_not_found - OLD.no_mx_records,
      'risky', NEW.by_verdict ->> '$.risky',
      'unknown', NEW.by_verdict ->> '$.unknown'
        + NEW.smtp_connect_error + NEW.smtp_timeout + NEW.blocked_by_provider + NEW.fatal_exception
        - OLD.smtp_connect_error - OLD.smtp_timeout - OLD.blocked_by_provider - OLD.fatal_exception)
  WHERE id = NEW.id;
END;

-- This release has counted.
CREATE TRIGGER scan_columns_from_counts AFTER UPDATE OF counts ON scans
WHEN (SELECT total(value) FROM json_each(NEW.counts)) <> NEW.accepted + NEW.refused + NEW.invalid_format
  + NEW.domain_not_found + NEW.no_mx_records + NEW.smtp_connect_error + NEW.smtp_timeout
  + NEW.blocked_by_provider + NEW.fatal_exception
BEGIN
  UPDATE scans SET
    accepted = coalesce(NEW.counts ->> '$.true', 0),
    refused = coalesce(NEW.counts ->> '$.false', 0),
    invalid_format = coalesce(NEW.counts ->> '$.invalid_format', 0),
    domain_not_found = coalesce(NEW.counts ->> '$.domain_not_found', 0),
    no_mx_records = coalesce(NEW.counts ->> '$.no_mx_records', 0),
    smtp_connect_error = coalesce(NEW.counts ->> '$.smtp_connect_error', 0),
    smtp_timeout = coalesce(NEW.counts ->> '$.smtp_timeout', 0),
    blocked_by_provider = coalesce(NEW.counts ->> '$.blocked_by_provider', 0),
    fatal_exception = coalesce(NEW.counts ->> '$.fatal_exception', 0)
  WHERE id = NEW.id;
END;

-- As before, with the counts of the columns of JSON. Where the release before ends a scan they may lack its last
-- message, since no order of triggers is promised; its own columns do not.
DROP TRIGGER scan_ended;
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
          'counts', CASE (SELECT total(value) FROM json_each(NEW.counts))
            WHEN NEW.answered THEN json(NEW.counts)
            ELSE json_object(
              'true', NEW.accepted, 'false', NEW.refused, 'invalid_format', NEW.invalid_format,
              'domain_not_found', NEW.domain_not_found, 'no_mx_records', NEW.no_mx_records,
              'smtp_connect_error', NEW.smtp_connect_error, 'smtp_timeout', NEW.smtp_timeout,
              'blocked_by_provider', NEW.blocked_by_provider, 'fatal_exception', NEW.fatal_exception) END,
          'by_verdict', CASE (SELECT total(value) FROM json_each(NEW.by_verdict))
            WHEN NEW.answered THEN json(NEW.by_verdict)
            ELSE json_object(
              'deliverable', NEW.accepted - (NEW.by_verdict ->> '$.risky'),
              'undeliverable', NEW.refused + NEW.invalid_format + NEW.domain_not_found + NEW.no_mx_records,
              'risky', NEW.by_verdict ->> '$.risky',
              'unknown', NEW.smtp_connect_error + NEW.smtp_timeout + NEW.blocked_by_provider
                + NEW.fatal_exception) END))
    FROM webhooks WHERE account_id = NEW.account_id
      AND 1000 > (SELECT count(*) FROM webhook_deliveries d
        WHERE d.account_id = NEW.account_id AND d.state = 'pending');
END;
