-- Plans that end, and calls of the operator's programs that set them (`POST /v1/operator/plans`).

-- Unix seconds from which the account is on `free` again, whatever `plan` says; NULL: the plan has no end.
ALTER TABLE accounts ADD COLUMN plan_until INTEGER;
-- Milliseconds since 1970-01-01 at which the event that set the plan happened, by the caller's clock.
ALTER TABLE accounts ADD COLUMN plan_set_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX accounts_with_plan_end ON accounts (plan_until) WHERE plan_until IS NOT NULL;

-- `webhook-id` of the call that caused the action: none causes two. NULL: an operator typed it.
ALTER TABLE operator_actions ADD COLUMN event TEXT;
CREATE UNIQUE INDEX operator_actions_by_event ON operator_actions (event) WHERE event IS NOT NULL;
