-- A hook's calls aren't counted: the allowance of checks limits them, and lists and format cost nothing.
ALTER TABLE guard_policies DROP COLUMN daily;
ALTER TABLE guard_policies DROP COLUMN hook_day;
ALTER TABLE guard_policies DROP COLUMN hook_calls;
