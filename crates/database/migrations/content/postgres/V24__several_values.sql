-- Set for a column whose fields have several values.
ALTER TABLE column_definition ADD COLUMN multiple BOOLEAN NOT NULL DEFAULT FALSE;
