-- How much each site, library, list and folder holds, with all that is below it. Each measurement of a site collection
-- is a round; readers use the last complete one. A round is wanted, running (with a lease) or complete.
CREATE TABLE measurement (
    collection_id BIGINT NOT NULL PRIMARY KEY REFERENCES collection (id) ON DELETE CASCADE,
    complete BIGINT NOT NULL,
    running BIGINT NOT NULL,
    wanted BIGINT NOT NULL,
    measured_at BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);

-- One row for each scope that protects something in the container.
CREATE TABLE measured (
    collection_id BIGINT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    round BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    documents BIGINT NOT NULL,
    list_rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (collection_id, round, node_id, scope_id)
);

-- Containers in which the permissions of something have changed since that round began: what is counted there under
-- this scope may be hidden by now.
CREATE TABLE unmeasured (
    collection_id BIGINT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    round BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    PRIMARY KEY (collection_id, round, node_id, scope_id)
);
