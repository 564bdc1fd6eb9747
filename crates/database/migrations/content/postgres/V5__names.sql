-- Documents by time of change, newest first, with the names that a search looks at: both without reading the table.
CREATE INDEX node_recent ON node (modified_at, id, folded) WHERE kind = 'document';
