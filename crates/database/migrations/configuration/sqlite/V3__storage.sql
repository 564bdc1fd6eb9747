-- BLOB stores of any kind: their settings in the open, what is secret sealed with the farm's key.
CREATE TABLE blob_store_3 (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'read-only', 'draining')),
    location TEXT NOT NULL,
    settings TEXT NOT NULL,
    secret BLOB,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO blob_store_3 (id, name, kind, state, location, settings, secret, created_at)
    SELECT id, name, kind, 'active', location, '{}', NULL, created_at FROM blob_store;
DROP TABLE blob_store;
ALTER TABLE blob_store_3 RENAME TO blob_store;

-- Where new BLOBs of a content database, site collection or library go, where that differs from what is above it.
CREATE TABLE blob_policy (
    target_id INTEGER NOT NULL PRIMARY KEY,
    target_kind TEXT NOT NULL CHECK (target_kind IN ('database', 'collection', 'library')),
    store_id INTEGER,
    minimum_size INTEGER,
    rules TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by INTEGER NOT NULL
) STRICT;

CREATE TABLE job (
    id INTEGER NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'paused', 'finished', 'failed', 'aborted')),
    wish TEXT NOT NULL CHECK (wish IN ('run', 'pause', 'abort')),
    payload TEXT NOT NULL,
    progress TEXT NOT NULL,
    message TEXT NOT NULL,
    runner INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER
) STRICT;
CREATE INDEX job_state ON job (state, id);

-- What a job could not do, to be tried again.
CREATE TABLE job_error (
    job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    item TEXT NOT NULL,
    message TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (job_id, item)
) STRICT;

-- Backups that were taken. While one runs, or is kept without its own copy of the BLOBs, nothing that it needs is collected.
CREATE TABLE backup_set (
    id INTEGER NOT NULL PRIMARY KEY,
    destination TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'kept', 'failed', 'removed')),
    needs_stores INTEGER NOT NULL CHECK (needs_stores IN (0, 1)),
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    finished_at INTEGER,
    bytes INTEGER NOT NULL,
    new_bytes INTEGER NOT NULL,
    message TEXT NOT NULL
) STRICT;
