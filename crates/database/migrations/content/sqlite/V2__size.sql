-- Listings by size.
CREATE INDEX node_size ON node (parent_id, size);
