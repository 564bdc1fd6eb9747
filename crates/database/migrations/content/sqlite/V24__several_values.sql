-- Set for a column whose fields have several values.
ALTER TABLE column_definition ADD COLUMN multiple INTEGER NOT NULL DEFAULT 0 CHECK (multiple IN (0, 1));
