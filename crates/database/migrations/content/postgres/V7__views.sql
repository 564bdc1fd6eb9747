-- Listings sorted by person and by type.
ALTER TABLE node ALTER COLUMN media_type TYPE TEXT COLLATE "C";
CREATE INDEX node_by_person ON node (parent_id, modified_by, folded) WHERE kind = 'document';
CREATE INDEX node_by_type ON node (parent_id, media_type, folded) WHERE kind = 'document';

-- Listings sorted by a column: the place of the item stands beside its value, and text as it is compared.
ALTER TABLE column_value ADD COLUMN parent_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE column_value ADD COLUMN folded TEXT COLLATE "C";
UPDATE column_value SET folded = substr(lower(text), 1, 100),
    parent_id = coalesce((SELECT parent_id FROM node WHERE node.id = column_value.node_id), 0);
CREATE INDEX column_value_text ON column_value (parent_id, column_id, folded, node_id) WHERE folded IS NOT NULL;
CREATE INDEX column_value_number ON column_value (parent_id, column_id, number, node_id) WHERE number IS NOT NULL;
CREATE INDEX column_value_integer ON column_value (parent_id, column_id, integer, node_id) WHERE integer IS NOT NULL;

-- How somebody wants to see a library; without an owner, for everybody.
CREATE TABLE saved_view (
    id BIGINT NOT NULL PRIMARY KEY,
    library_id BIGINT NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    owner_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    query TEXT NOT NULL,
    standard BOOLEAN NOT NULL,
    UNIQUE (library_id, owner_id, folded)
);

-- Documents that somebody wants to hear of.
CREATE TABLE followed (
    principal_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    since BIGINT NOT NULL,
    PRIMARY KEY (principal_id, node_id)
);
CREATE INDEX followed_node ON followed (node_id);

-- Links by which anybody can download a document: allowed site collection by site collection, for so many days at most.
CREATE TABLE link_rule (
    collection_id BIGINT NOT NULL PRIMARY KEY REFERENCES collection (id) ON DELETE CASCADE,
    most_days BIGINT NOT NULL
);
CREATE TABLE share_link (
    id BIGINT NOT NULL PRIMARY KEY,
    node_id BIGINT NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL,
    password TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    most_downloads BIGINT,
    downloads BIGINT NOT NULL
);
CREATE INDEX share_link_node ON share_link (node_id, id);
