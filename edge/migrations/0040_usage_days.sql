-- How many checks an account was charged on each of its days, for the chart of its owner: numbers, and nothing about
-- what was checked. A row is written when the day is over for the account, by its next charge; no charge of the same
-- day writes one.

CREATE TABLE usage_days (
  account_id   TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Days since 1970-01-01, UTC. Day 0 stands for what there was before the first charge.
  day          INTEGER NOT NULL,
  -- Charged to the daily allowance.
  checks       INTEGER NOT NULL,
  -- Welcome checks left at the end of the day: the difference to the row before was used on it.
  welcome_left INTEGER NOT NULL,
  PRIMARY KEY (account_id, day)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_days (account_id, day, checks, welcome_left)
SELECT id, 0, 0, welcome_left FROM accounts WHERE welcome_left > 0;

CREATE TRIGGER usage_begins AFTER UPDATE OF welcome_left ON accounts
WHEN new.welcome_left > old.welcome_left
BEGIN
  INSERT INTO usage_days (account_id, day, checks, welcome_left) VALUES (new.id, 0, 0, new.welcome_left)
  ON CONFLICT (account_id, day) DO NOTHING;
END;

-- The pair `previous_*` moves with the first charge of a later day, and grows by a check that was leased before
-- midnight and charged after it.
CREATE TRIGGER usage_of_a_day AFTER UPDATE OF previous_day, previous_charged ON accounts
WHEN new.previous_day > 0
  AND (new.previous_day <> old.previous_day OR new.previous_charged <> old.previous_charged)
BEGIN
  INSERT INTO usage_days (account_id, day, checks, welcome_left)
  VALUES (new.id, new.previous_day, new.previous_charged, old.welcome_left)
  ON CONFLICT (account_id, day) DO UPDATE SET checks = excluded.checks;
  -- One row from before the chart stays: the first day's welcome checks are counted from it.
  DELETE FROM usage_days WHERE account_id = new.id AND day < (
    SELECT max(day) FROM usage_days WHERE account_id = new.id AND day <= new.day - 31);
END;
