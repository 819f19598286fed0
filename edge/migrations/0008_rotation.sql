-- Which secret an account's address hash was made with: what is found under an older one is moved, so that
-- the older one can go. Empty: not known yet.

ALTER TABLE accounts ADD COLUMN address_kid TEXT NOT NULL DEFAULT '';

CREATE INDEX accounts_by_address_kid ON accounts (address_kid);
CREATE INDEX accounts_by_totp_secret ON accounts (totp_secret) WHERE totp_secret IS NOT NULL;
