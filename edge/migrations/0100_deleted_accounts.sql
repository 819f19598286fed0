-- Deletion in steps: one statement takes everything that names or lets in the owner out of the account's row and marks it,
-- the rows of other tables follow, a few at a time, and the row is the last. Until then its state is `deactivated`, which
-- every statement that authorises refuses, those of the release before too.
ALTER TABLE accounts ADD COLUMN deleted_at INTEGER;
CREATE INDEX accounts_deleted ON accounts (id) WHERE deleted_at IS NOT NULL;

-- Nobody brings it back, whatever they mean to do.
CREATE TRIGGER deleted_stays_deleted BEFORE UPDATE OF state, deleted_at ON accounts
WHEN OLD.deleted_at IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'the account is deleted');
END;
