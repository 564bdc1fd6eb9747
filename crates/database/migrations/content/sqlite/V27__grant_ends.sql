-- End of a grant; NULL for one without end. A grant whose end has passed gives no rights.
ALTER TABLE scope_grant ADD COLUMN expires_at INTEGER;
