-- Two-factor codes entered wrongly since the last right one. It doesn't drain with time, as throttles do: somebody
-- who guesses slowly is told of to the owner too.

ALTER TABLE accounts ADD COLUMN wrong_codes INTEGER NOT NULL DEFAULT 0;
