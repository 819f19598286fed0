-- A lease may hold several units: some of the daily allowance of `day`, and some welcome checks. NULL in both: a lease of the
-- release before, which holds one unit of `source`.
ALTER TABLE leases ADD COLUMN n_daily INTEGER CHECK (n_daily >= 0);
ALTER TABLE leases ADD COLUMN n_welcome INTEGER CHECK (n_welcome >= 0);
