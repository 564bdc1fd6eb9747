-- Last verification and last drill of a backup, with the number of faults each found; NULL if never.
ALTER TABLE backup_set ADD COLUMN verified_at BIGINT;
ALTER TABLE backup_set ADD COLUMN verify_faults BIGINT;
ALTER TABLE backup_set ADD COLUMN drilled_at BIGINT;
ALTER TABLE backup_set ADD COLUMN drill_faults BIGINT;
