-- Listings sorted by person and by type.
CREATE INDEX node_by_person ON node (parent_id, modified_by, folded) WHERE kind = 'document';
CREATE INDEX node_by_type ON node (parent_id, media_type, folded) WHERE kind = 'document';

-- Listings sorted by a column: the place of the item stands beside its value, and text as it is compared.
ALTER TABLE column_value ADD COLUMN parent_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE column_value ADD COLUMN folded TEXT;
UPDATE column_value SET folded = substr(lower(text), 1, 100),
    parent_id = coalesce((SELECT parent_id FROM node WHERE node.id = column_value.node_id), 0);
CREATE INDEX column_value_text ON column_value (parent_id, column_id, folded, node_id) WHERE folded IS NOT NULL;
CREATE INDEX column_value_number ON column_value (parent_id, column_id, number, node_id) WHERE number IS NOT NULL;
CREATE INDEX column_value_integer ON column_value (parent_id, column_id, integer, node_id) WHERE integer IS NOT NULL;

-- How somebody wants to see a library; without an owner, for everybody.
CREATE TABLE saved_view (
    id INTEGER NOT NULL PRIMARY KEY,
    library_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    owner_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    query TEXT NOT NULL,
    standard INTEGER NOT NULL CHECK (standard IN (0, 1)),
    UNIQUE (library_id, owner_id, folded)
) STRICT;

-- Documents that somebody wants to hear of.
CREATE TABLE followed (
    principal_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    since INTEGER NOT NULL,
    PRIMARY KEY (principal_id, node_id)
) STRICT;
CREATE INDEX followed_node ON followed (node_id);

-- Links by which anybody can download a document: allowed site collection by site collection, for so many days at most.
CREATE TABLE link_rule (
    collection_id INTEGER NOT NULL PRIMARY KEY REFERENCES collection (id) ON DELETE CASCADE,
    most_days INTEGER NOT NULL
) STRICT;
CREATE TABLE share_link (
    id INTEGER NOT NULL PRIMARY KEY,
    node_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    password TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    most_downloads INTEGER,
    downloads INTEGER NOT NULL
) STRICT;
CREATE INDEX share_link_node ON share_link (node_id, id);
