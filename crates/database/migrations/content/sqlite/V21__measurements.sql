-- How much each site, library, list and folder holds, with all that is below it. Each measurement of a site collection
-- is a round; readers use the last complete one. A round is wanted, running (with a lease) or complete.
CREATE TABLE measurement (
    collection_id INTEGER NOT NULL PRIMARY KEY REFERENCES collection (id) ON DELETE CASCADE,
    complete INTEGER NOT NULL,
    running INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    measured_at INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT;

-- One row for each scope that protects something in the container.
CREATE TABLE measured (
    collection_id INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    round INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    scope_id INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    list_rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (collection_id, round, node_id, scope_id)
) STRICT, WITHOUT ROWID;

-- Containers in which the permissions of something have changed since that round began: what is counted there under
-- this scope may be hidden by now.
CREATE TABLE unmeasured (
    collection_id INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    round INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    scope_id INTEGER NOT NULL,
    PRIMARY KEY (collection_id, round, node_id, scope_id)
) STRICT, WITHOUT ROWID;
