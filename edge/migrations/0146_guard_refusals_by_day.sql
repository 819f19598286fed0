-- Refusals older than thirty days are looked for by day.
CREATE INDEX guard_refusals_by_day ON guard_refusals (day);
