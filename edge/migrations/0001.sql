-- The tables of every database; docs/architecture.md, "Where data lives", says what is in them. Times are unix seconds,
-- and days are counted from 1970-01-01 in UTC. D1 binds numbers as doubles: STRICT turns them back into integers or fails.
-- No behaviour is here: what a deed writes is in the statements of its batch (edge/src, files ending in `_sql` and `ledger/`). The two triggers guard
-- what no statement may do, and bound a table.

-- The sizes of the plans. Every database has them all.
CREATE TABLE plans (
  name           TEXT    NOT NULL PRIMARY KEY,
  unlimited      INTEGER NOT NULL DEFAULT 0 CHECK (unlimited IN (0, 1)),
  daily_checks   INTEGER NOT NULL CHECK (daily_checks >= 0),
  daily_scans    INTEGER NOT NULL CHECK (daily_scans >= 0),
  -- Granted once, on confirmation.
  welcome_checks INTEGER NOT NULL CHECK (welcome_checks >= 0),
  -- Checks of one account at the same time.
  max_in_flight  INTEGER NOT NULL DEFAULT 10 CHECK (max_in_flight > 0),
  -- Positions of a scan, and scans under way at the same time.
  scan_size      INTEGER NOT NULL DEFAULT 200 CHECK (scan_size > 0),
  max_scans      INTEGER NOT NULL DEFAULT 1 CHECK (max_scans > 0)
) STRICT, WITHOUT ROWID;

INSERT INTO plans
  (name, unlimited, daily_checks, daily_scans, welcome_checks, max_in_flight, scan_size, max_scans) VALUES
  ('free',      0,  100,  1, 50,  10,    200,  1),
  ('pro',       0, 5000, 20, 50, 100,  10000,  3),
  ('unlimited', 1,    0,  0,  0, 500, 100000, 10);

CREATE TABLE accounts (
  -- 16 hexadecimal digits, random; the first two are the number of the account's database.
  id              TEXT    NOT NULL PRIMARY KEY,
  -- As typed at registration: where mail goes.
  email           TEXT    NOT NULL,
  display_name    TEXT    NOT NULL DEFAULT '',
  -- PHC string, argon2id.
  password_hash   TEXT    NOT NULL,
  state           TEXT    NOT NULL DEFAULT 'confirmed' CHECK (state IN ('confirmed', 'deactivated')),
  created_at      INTEGER NOT NULL,
  -- When a deletion by an operator takes effect; NULL: none waits. Until then the account is only deactivated.
  erase_at        INTEGER,
  -- When the password was last replaced, and when by a reset; 0: never.
  password_at     INTEGER NOT NULL DEFAULT 0,
  reset_at        INTEGER NOT NULL DEFAULT 0,
  -- Deletion in steps: one statement takes everything that names or lets in the owner out of this row and marks it, the
  -- rows of other tables follow, a few at a time, and this row is the last. Until then its state is `deactivated`, which
  -- every statement that authorises refuses.
  deleted_at      INTEGER,
  scan_mail       INTEGER NOT NULL DEFAULT 1 CHECK (scan_mail IN (0, 1)),
  allowance_mail  INTEGER NOT NULL DEFAULT 1 CHECK (allowance_mail IN (0, 1)),

  plan            TEXT    NOT NULL DEFAULT 'free' REFERENCES plans (name),
  -- From then on the account is on `free` again, whatever `plan` says; NULL: the plan has no end.
  plan_until      INTEGER,
  -- Milliseconds since 1970-01-01 at which the event that set the plan happened, by the caller's clock.
  plan_set_at     INTEGER NOT NULL DEFAULT 0,

  -- Set by the operator: 0 stops every key.
  key_active      INTEGER NOT NULL DEFAULT 1 CHECK (key_active IN (0, 1)),
  -- A JSON object: by key, the last day of a charge, the newest version that was charged, and the checks charged on that
  -- day (the latter of limited keys only). It is here so that the account's one statement charges its keys too. A key
  -- that ended leaves its entry until the next key is made.
  key_use         TEXT    NOT NULL DEFAULT '{}',

  -- The sealed secret of a second factor between set-up and its first valid code.
  totp_pending    TEXT,
  -- Codes entered wrongly since the last right one. It doesn't drain with time, as throttles do: the owner is told of
  -- somebody who guesses slowly too.
  wrong_codes     INTEGER NOT NULL DEFAULT 0,

  -- The ledger (edge/src/ledger/charge.rs). Checks charged to the daily allowance of `day`; when the first charge of a
  -- later day arrives, the pair moves to `previous_*`, so that a check that was leased before midnight is still charged
  -- to the day it was leased on.
  day              INTEGER NOT NULL DEFAULT 0,
  daily_charged    INTEGER NOT NULL DEFAULT 0 CHECK (daily_charged >= 0),
  previous_day     INTEGER NOT NULL DEFAULT 0,
  previous_charged INTEGER NOT NULL DEFAULT 0 CHECK (previous_charged >= 0),
  welcome_left     INTEGER NOT NULL DEFAULT 0 CHECK (welcome_left >= 0),
  -- Names the last charge of a cached answer, so that a retry after a lost reply does not charge twice.
  last_charge      TEXT    NOT NULL DEFAULT '',
  -- For the chart of the owner (edge/src/ledger/usage_days.rs): welcome checks left at the end of `previous_day`, and a
  -- JSON list of the days of the month before it, each with its day, its checks, and the welcome checks left at its end.
  -- Day 0 stands for what there was before the first charge.
  previous_welcome INTEGER NOT NULL DEFAULT 0,
  days             TEXT    NOT NULL DEFAULT '[]',

  -- Scans charged to the daily allowance of `scans_day`.
  scans_day        INTEGER NOT NULL DEFAULT 0,
  scans_charged    INTEGER NOT NULL DEFAULT 0 CHECK (scans_charged >= 0),
  scan_credits     INTEGER NOT NULL DEFAULT 0 CHECK (scan_credits >= 0),
  -- Units of scans given back on one day because the owner cancelled or deleted the scan.
  refunds_day      INTEGER NOT NULL DEFAULT 0,
  scan_refunds     INTEGER NOT NULL DEFAULT 0,
  total_scans      INTEGER NOT NULL DEFAULT 0,
  completed_scans  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- What scheduled runs look for is found without reading every account.
CREATE INDEX accounts_to_be_erased ON accounts (erase_at) WHERE erase_at IS NOT NULL;
CREATE INDEX accounts_with_plan_end ON accounts (plan_until) WHERE plan_until IS NOT NULL;
CREATE INDEX accounts_deleted ON accounts (id) WHERE deleted_at IS NOT NULL;

CREATE TRIGGER deleted_stays_deleted BEFORE UPDATE OF state, deleted_at ON accounts
WHEN OLD.deleted_at IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'the account is deleted');
END;

-- Which of the databases this one is, once it has been used: two bindings that are exchanged by mistake would answer for
-- each other's accounts.
CREATE TABLE this_database (
  number         INTEGER NOT NULL CHECK (number BETWEEN 0 AND 255),
  -- When a scheduled run reached it last, and the emails and scans that had waited for more than a quarter of an hour.
  ran_at         INTEGER NOT NULL DEFAULT 0,
  emails_waiting INTEGER NOT NULL DEFAULT 0,
  scans_waiting  INTEGER NOT NULL DEFAULT 0,
  -- How far the removal of expired idempotency keys has come: the account and the name of the key that was read last.
  keys_read_in   TEXT    NOT NULL DEFAULT '',
  keys_read_to   TEXT    NOT NULL DEFAULT ''
) STRICT;

-- The directory, in the first database: where the account of an address is. Asked where only an address is known.
CREATE TABLE directory (
  -- Folded: only ASCII letters are lower-cased.
  address    TEXT    NOT NULL PRIMARY KEY,
  -- The same for all spellings that a provider treats alike (edge/src/account/mailbox.rs). NULL: the operator allowed the
  -- address beside another spelling.
  mailbox    TEXT    UNIQUE,
  -- As typed: where the note goes that the address has an account.
  email      TEXT    NOT NULL,
  -- Has two rows while its address is being changed.
  account_id TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX directory_by_account ON directory (account_id);

-- Who isn't confirmed isn't an account, but a row of the first database, for a day.
CREATE TABLE registrations (
  -- Folded.
  address       TEXT    NOT NULL PRIMARY KEY,
  -- As typed.
  email         TEXT    NOT NULL,
  password_hash TEXT    NOT NULL,
  -- SHA-256 of the token that is mailed.
  token_hash    TEXT    NOT NULL UNIQUE,
  -- The account that the confirmation creates.
  account_id    TEXT    NOT NULL,
  expires_at    INTEGER NOT NULL,
  -- The link was used and the directory has the address: the account follows, and the row goes.
  is_entered    INTEGER NOT NULL DEFAULT 0 CHECK (is_entered IN (0, 1)),
  -- The mailbox had an account until a few days ago.
  is_former     INTEGER NOT NULL DEFAULT 0 CHECK (is_former IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX registrations_by_expiry ON registrations (expires_at);
CREATE INDEX registrations_entered ON registrations (account_id) WHERE is_entered = 1;

-- Accounts that were closed within a day: none of them is created again by a step that comes late.
CREATE TABLE closed_accounts (
  id        TEXT    NOT NULL PRIMARY KEY,
  closed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Links for a new password; only a SHA-256 of the token is kept.
CREATE TABLE reset_links (
  hash            TEXT    NOT NULL PRIMARY KEY,
  -- A newer link voids older ones.
  account_id      TEXT    NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
  expires_at      INTEGER NOT NULL,
  -- A newer link whose mail is being handed over: until then the one before stays valid.
  next_hash       TEXT,
  next_expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX reset_links_by_expiry ON reset_links (expires_at);
CREATE INDEX reset_links_next ON reset_links (next_hash) WHERE next_hash IS NOT NULL;

-- Addresses for which a reset link was asked, whether or not they have an account, in the first database. The row goes
-- with the mail, which is made after the response, or after an hour.
CREATE TABLE mail_due (
  mailbox    TEXT    NOT NULL PRIMARY KEY,
  -- As it was typed.
  email      TEXT    NOT NULL,
  -- Not tried before.
  due_at     INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Second factors: the one that is on, and those that were on until three days ago.
CREATE TABLE second_factors (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Random.
  id         TEXT    NOT NULL,
  -- Sealed (AES-256-GCM, the account id as associated data), base64, after the id of the secret (`id.`).
  secret     TEXT    NOT NULL,
  on_at      INTEGER NOT NULL,
  -- NULL: it's on.
  off_at     INTEGER,
  -- The last accepted time step (RFC 6238 §5.2: a code works once).
  last_step  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX second_factors_on ON second_factors (account_id) WHERE off_at IS NULL;
CREATE INDEX second_factors_by_secret ON second_factors (secret);
CREATE INDEX second_factors_off ON second_factors (off_at) WHERE off_at IS NOT NULL;

-- One-time codes for a lost device; only SHA-256 is kept.
CREATE TABLE recovery_codes (
  account_id TEXT NOT NULL,
  factor_id  TEXT NOT NULL,
  hash       TEXT NOT NULL,
  PRIMARY KEY (account_id, hash),
  FOREIGN KEY (account_id, factor_id) REFERENCES second_factors (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Changes that could give an account away. Each is open, and a reset takes it back, for three days.
CREATE TABLE changes (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- What was changed: password, passkey, address, recovery, and `on` or `off` with a second factor's id.
  about      TEXT    NOT NULL,
  -- In the links that stop it. Another one begins when it's opened again, and with each reset and move.
  name       TEXT    NOT NULL DEFAULT (lower(hex(randomblob(8)))),
  -- The notice that tells of it, and the number of this deed among those that the notice tells of.
  kind       TEXT    NOT NULL,
  deed       INTEGER NOT NULL,
  -- Of the first such change that is still open.
  at         INTEGER NOT NULL,
  -- The three days count from then: the hand-over of its email, and until that a time to come: fourteen days after the
  -- change, thirty of a recovery.
  since      INTEGER NOT NULL,
  PRIMARY KEY (account_id, about)
) STRICT, WITHOUT ROWID;

CREATE INDEX changes_by_time ON changes (since);

-- What waits until its change isn't open any more: another address, and the operator's recovery of an account.
CREATE TABLE waiting (
  id          TEXT    NOT NULL PRIMARY KEY,
  account_id  TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind        TEXT    NOT NULL CHECK (kind IN ('address', 'recovery')),
  -- asked: a link is at the new mailbox. agreed: it was used, with the password. moving: the directory is being asked.
  -- done: it's over, with effect or without.
  state       TEXT    NOT NULL CHECK (state IN ('asked', 'agreed', 'moving', 'done')),
  -- Of the beginning, and of the end where it's done.
  at          INTEGER NOT NULL,
  new_email   TEXT    NOT NULL DEFAULT '',
  -- The address before, until its mailbox is told that the change is done.
  old_email   TEXT    NOT NULL DEFAULT '',
  -- SHA-256 of the token that is mailed to the new mailbox.
  token_hash  TEXT    UNIQUE,
  -- Of the link.
  expires_at  INTEGER NOT NULL DEFAULT 0,
  -- Whether the directory says what the account says.
  settled     INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX waiting_by_account ON waiting (account_id);

-- One row for each session, so that signing out ends it on the server. It is read in the statement that acts on the
-- session's behalf.
CREATE TABLE sessions (
  -- The `jti` of its token.
  id         TEXT    NOT NULL PRIMARY KEY,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- Such as "Firefox on Linux", and an ISO 3166 code: for its owner to recognise it by.
  browser    TEXT    NOT NULL,
  country    TEXT    NOT NULL,
  -- Whether it was used after its first minute.
  is_used    INTEGER NOT NULL DEFAULT 0 CHECK (is_used IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Passkeys (WebAuthn Level 3): public keys that start a session in place of the password.
CREATE TABLE passkeys (
  account_id   TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- 32 hexadecimal digits: the beginning of the SHA-256 of the credential's id.
  id           TEXT    NOT NULL,
  -- The credential's id in base64url, by which an authenticator knows that it has one already.
  credential   TEXT    NOT NULL,
  -- A JWK.
  public_key   TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  -- Signatures so far; 0 where the authenticator counts none.
  counter      INTEGER NOT NULL,
  -- Whether it can be on several devices, which never changes.
  is_syncable  INTEGER NOT NULL CHECK (is_syncable IN (0, 1)),
  created_at   INTEGER NOT NULL,
  -- 0: never.
  used_at      INTEGER NOT NULL DEFAULT 0,
  -- The session of the last sign-in: it starts with the same transaction or not at all.
  last_session TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

-- API keys. The account's own key is there from the beginning, with an id of zeros; the others have rights and limits of
-- their own. No text of a key: it is derived from the row's names and the Worker's secret
-- (docs/decisions/0002-derived-keys.md).
CREATE TABLE keys (
  account_id  TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- 16 hexadecimal digits, random.
  id          TEXT    NOT NULL,
  -- One more with each replacement.
  version     INTEGER NOT NULL DEFAULT 1,
  -- The version before works until then; 0: it is dead.
  previous_until INTEGER NOT NULL DEFAULT 0,
  name        TEXT    NOT NULL DEFAULT '',
  -- One bit for each right; the own key has all, also those to come.
  rights      INTEGER NOT NULL DEFAULT 255,
  -- Checks a day; none: as many as the account has.
  daily_limit INTEGER,
  -- 0: never.
  expires_at  INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  -- 0: never. A reset ends a replaced key like a new one, because a thief who replaces it has its new text.
  replaced_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

-- Attempts at something that can be guessed or abused, in the first database: leaky buckets (edge/src/limits/throttle.rs).
-- In an account's database, the challenges of passkeys that were answered: each is answered once.
CREATE TABLE throttles (
  -- What is attempted, and a keyed hash of by whom or on whom.
  key          TEXT    NOT NULL PRIMARY KEY,
  -- When all attempts so far will have drained; from then on the row says nothing.
  drained_at   INTEGER NOT NULL,
  -- The attempt that was admitted last: how a batch knows that it was its own.
  last_attempt TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX throttles_by_time ON throttles (drained_at);

-- Emails to owners, written in the transaction of the deed that they tell of and mailed afterwards: no deed waits for a
-- mail.
CREATE TABLE notices (
  account_id  TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- What happened; a kind that happens several times before its mail is told of once.
  kind        TEXT    NOT NULL,
  -- How often it happened, and how many of those a mail has told of.
  deeds       INTEGER NOT NULL DEFAULT 1,
  told        INTEGER NOT NULL DEFAULT 0,
  -- When the last mail was handed over.
  told_at     INTEGER NOT NULL DEFAULT 0,
  -- Not mailed before.
  due_at      INTEGER NOT NULL,
  -- Attempts at mailing since it last happened.
  attempts    INTEGER NOT NULL DEFAULT 0,
  -- When all emails of this kind so far will have drained from the account's bucket.
  drained_at  INTEGER NOT NULL DEFAULT 0,
  -- When and from where the last deed was done, for the owner to recognise it by. Noted after the response of the deed;
  -- where `noted` is behind `deeds`, it isn't known.
  happened_at INTEGER NOT NULL DEFAULT 0,
  browser     TEXT    NOT NULL DEFAULT '',
  country     TEXT    NOT NULL DEFAULT '',
  noted       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_by_time ON notices (due_at);

-- What an account's owner sees of sign-ins, changes and failed attempts.
CREATE TABLE security_events (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Each class has rows of its own, so that events of one class push out none of another: strangers can cause failures,
  -- and the holder of a stolen session can cause deeds.
  class      TEXT    NOT NULL CHECK (class IN ('sign_in', 'deed', 'failure')),
  kind       TEXT    NOT NULL,
  -- The session of a sign-in. Of the others the day: a kind that happens several times on a day is one row.
  name       TEXT    NOT NULL,
  -- The last time.
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

-- What operators did (`POST /v1/operator`), written in the batch of the deed. A row stays when its account is deleted.
CREATE TABLE operator_actions (
  -- Of the signed call, or `webhook-id`: a call that is sent again finds its row and does nothing.
  id         TEXT    NOT NULL PRIMARY KEY,
  at         INTEGER NOT NULL,
  -- The person whose secret signed the call, or `webhook`.
  operator   TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  -- NULL for actions on no single account.
  account_id TEXT,
  -- The plan set, the number granted; never an address.
  value      TEXT    NOT NULL DEFAULT '',
  reason     TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX operator_actions_by_account ON operator_actions (account_id, at);
CREATE INDEX operator_actions_by_time ON operator_actions (at);

-- Addresses that may be registered beside another spelling of their mailbox, in the first database. A row goes when it is
-- used, or after thirty days.
CREATE TABLE allowed_addresses (
  -- Folded.
  address    TEXT    NOT NULL PRIMARY KEY,
  allowed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A lease holds checks of the allowance while an origin is being asked. It ends by being settled (charged or released)
-- or by expiring; either way once. A row in, a row out: without an index, each costs one row written. An account's
-- leases lie side by side.
CREATE TABLE leases (
  id          TEXT    NOT NULL,
  account_id  TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- Units of the daily allowance of `day`, and welcome checks.
  day         INTEGER NOT NULL,
  n_daily     INTEGER NOT NULL CHECK (n_daily >= 0),
  n_welcome   INTEGER NOT NULL CHECK (n_welcome >= 0),
  expires_at  INTEGER NOT NULL,
  -- Units that were charged while the lease goes on, for results that have been given out at a deadline.
  n_charged   INTEGER NOT NULL DEFAULT 0,
  -- The Idempotency-Key of a check in flight, hashed, and the key and the request, hashed: a key in flight is known by
  -- its request, too. Their mark ends with the lease.
  idempotency TEXT,
  request     TEXT,
  -- The key that holds the units, by its id and version as in its text; none: a session.
  key         TEXT,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

-- What was answered under an Idempotency-Key, so that a repeat is answered the same and not charged again. Neither key
-- nor address: hashes under a secret, and an answer that opens with the key itself. Without an index: expired rows are
-- looked for by reading all.
CREATE TABLE idempotency_keys (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The key, hashed.
  name       TEXT    NOT NULL,
  -- The key and the request, hashed.
  request    TEXT    NOT NULL,
  -- The verdict, sealed; the id of a scan; empty where the request says it all.
  answer     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

-- Scans: lists that are checked in the background. No address is here: the addresses wait sealed in the queue, and
-- results are kept by position.
CREATE TABLE scans (
  -- `scan_`, then hexadecimal digits that begin with the time: newer ones are greater.
  id         TEXT    NOT NULL PRIMARY KEY,
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL DEFAULT '',
  state      TEXT    NOT NULL DEFAULT 'open'
             CHECK (state IN ('open', 'running', 'completed', 'cancelled', 'expired')),
  details    INTEGER NOT NULL CHECK (details IN (0, 1)),
  total      INTEGER NOT NULL CHECK (total > 0),
  received   INTEGER NOT NULL DEFAULT 0,
  answered   INTEGER NOT NULL DEFAULT 0,
  waiting    INTEGER NOT NULL DEFAULT 0,
  -- Final verdicts by status and by verdict, JSON.
  counts     TEXT    NOT NULL DEFAULT '{}',
  by_verdict TEXT    NOT NULL DEFAULT '{}',
  -- Where its unit came from, and of which day.
  source     TEXT    NOT NULL CHECK (source IN ('daily', 'credit')),
  day        INTEGER NOT NULL,
  -- Whether anything of it was handed to an origin: then cancelling gives nothing back.
  handed     INTEGER NOT NULL DEFAULT 0,
  -- A scan that only waits for retries holds no place among the scans at the same time, but while a round is asked:
  -- until then.
  asking_until INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  ended_at   INTEGER,
  -- The statement that ended it: how a transaction knows that it was its own.
  ended_by   TEXT    NOT NULL DEFAULT '',
  -- The pace: what was answered when the present window began, and the one before it.
  window_at         INTEGER NOT NULL,
  window_answered   INTEGER NOT NULL DEFAULT 0,
  previous_at       INTEGER NOT NULL,
  previous_answered INTEGER NOT NULL DEFAULT 0,
  -- When a round was last recorded, or the last part came in, in unix seconds.
  progress_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX scans_by_account ON scans (account_id, id);
CREATE INDEX scans_under_way ON scans (created_at) WHERE ended_at IS NULL;
CREATE INDEX scans_ended ON scans (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX scans_ended_by_account ON scans (account_id, ended_at, id) WHERE ended_at IS NOT NULL;

-- Parts that clients have sent.
CREATE TABLE scan_parts (
  scan_id     TEXT    NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
  part        INTEGER NOT NULL,
  -- Of all addresses of the part together, under a secret; empty where the part is one address.
  mac         TEXT    NOT NULL,
  -- Whether all of it is in the queue.
  sent        INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1)),
  -- How often somebody has asked whether the part is a certain one, or has sent another one in its place.
  comparisons INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scan_id, part)
) STRICT, WITHOUT ROWID;

-- The results of one message, written once.
CREATE TABLE scan_results (
  scan_id  TEXT    NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
  part     INTEGER NOT NULL,
  -- Which message of the part, and its how-maniest successor; slot -1 is what is no address.
  slot     INTEGER NOT NULL,
  round    INTEGER NOT NULL,
  -- JSON: position within the part, status, what may be told of it, and when it is asked again.
  results  TEXT    NOT NULL,
  -- Who wrote it: how a transaction knows that it was its own.
  writer   TEXT    NOT NULL,
  -- Whether the message that asks again is in the queue, if there has to be one.
  followed INTEGER NOT NULL DEFAULT 0 CHECK (followed IN (0, 1)),
  PRIMARY KEY (scan_id, part, slot, round)
) STRICT, WITHOUT ROWID;

-- What a scan waits for: a row for each of its messages that is to be asked again.
CREATE TABLE scan_retries (
  scan_id     TEXT    NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
  part        INTEGER NOT NULL,
  slot        INTEGER NOT NULL,
  -- When the first of its addresses is asked again; when all of them are expected to have their final verdict, and at
  -- the latest.
  due_at      INTEGER NOT NULL,
  expected_at INTEGER NOT NULL,
  latest_at   INTEGER NOT NULL,
  -- A message that nobody could be asked about waits, too: positions of it that were never asked about, and its rounds
  -- in a row without an answer. 0: a server has asked for patience.
  unasked     INTEGER NOT NULL DEFAULT 0,
  misses      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scan_id, part, slot)
) STRICT, WITHOUT ROWID;

-- Where an account is told of its scans, and how that went lately.
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
  created_at   INTEGER NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  -- Of the last attempt: when, the HTTP status if there was one, and what else went wrong.
  attempted_at INTEGER,
  status       INTEGER,
  problem      TEXT,
  -- The scan as it was when it ended, from which the body is made; empty in a test. Its owner may have deleted it since.
  -- Of an allowance: `total` daily checks, of which `answered` are used.
  scan_id      TEXT    NOT NULL DEFAULT '',
  total        INTEGER NOT NULL DEFAULT 0,
  answered     INTEGER NOT NULL DEFAULT 0,
  counts       TEXT    NOT NULL DEFAULT '{}',
  by_verdict   TEXT    NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (account_id, attempts, created_at)
  WHERE state = 'pending';

-- The sign-up guard: what an account's own forms refuse. No address is here.
CREATE TABLE guard_policies (
  account_id     TEXT    NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  -- JSON lists: what is refused, and domains that the owner always allows or blocks.
  refuse         TEXT    NOT NULL,
  allow_domains  TEXT    NOT NULL,
  block_domains  TEXT    NOT NULL,
  deadline_ms    INTEGER NOT NULL,
  -- Path and secret of the hook are derived from it. The version before works until then.
  hook_version   INTEGER NOT NULL DEFAULT 1,
  previous_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- For thirty days: how many sign-ups were refused for each reason.
CREATE TABLE guard_refusals (
  account_id TEXT    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  day        INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, reason)
) STRICT, WITHOUT ROWID;

CREATE INDEX guard_refusals_by_day ON guard_refusals (day);
