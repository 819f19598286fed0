-- Units of scans given back on one day because the owner cancelled or deleted the scan.
ALTER TABLE accounts ADD COLUMN refunds_day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN scan_refunds INTEGER NOT NULL DEFAULT 0;
