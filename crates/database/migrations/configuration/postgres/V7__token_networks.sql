-- The only networks from which a token works, separated by blanks; empty for all.
ALTER TABLE access_token ADD COLUMN networks TEXT NOT NULL DEFAULT '';
