-- Set where documents can be attached to the rows of a list. A list that keeps no versions would keep none of them.
ALTER TABLE library ADD COLUMN attachments BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE library SET attachments = TRUE WHERE node_id IN (SELECT id FROM node WHERE kind = 'list') AND versioning <> 'none';
