-- What a column has besides its kind, as a JSON object; empty for a column that has nothing: formula, default value, check.
ALTER TABLE column_definition ADD COLUMN options TEXT NOT NULL DEFAULT '';

-- Set while calculated values of items are out of date: those of items up to this identifier are computed.
ALTER TABLE library ADD COLUMN recompute_after INTEGER;
CREATE INDEX library_recompute ON library (node_id) WHERE recompute_after IS NOT NULL;
