-- Set where documents can be attached to the rows of a list. A list that keeps no versions would keep none of them.
ALTER TABLE library ADD COLUMN attachments INTEGER NOT NULL DEFAULT 0 CHECK (attachments IN (0, 1));
UPDATE library SET attachments = 1 WHERE node_id IN (SELECT id FROM node WHERE kind = 'list') AND versioning <> 'none';
