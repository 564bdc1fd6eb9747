-- The documents of a library by time of change, newest first.
CREATE INDEX node_newest ON node (library_id, modified_at, id) WHERE kind = 'document';
