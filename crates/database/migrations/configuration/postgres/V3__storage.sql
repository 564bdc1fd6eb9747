-- BLOB stores of any kind: their settings in the open, what is secret sealed with the farm's key.
ALTER TABLE blob_store DROP CONSTRAINT blob_store_kind_check;
ALTER TABLE blob_store DROP CONSTRAINT blob_store_state_check;
ALTER TABLE blob_store ADD CONSTRAINT blob_store_state_check CHECK (state IN ('active', 'read-only', 'draining'));
ALTER TABLE blob_store ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
ALTER TABLE blob_store ALTER COLUMN settings DROP DEFAULT;
ALTER TABLE blob_store ADD COLUMN secret BYTEA;
UPDATE blob_store SET state = 'active';

-- Where new BLOBs of a content database, site collection or library go, where that differs from what is above it.
CREATE TABLE blob_policy (
    target_id BIGINT NOT NULL PRIMARY KEY,
    target_kind TEXT NOT NULL CHECK (target_kind IN ('database', 'collection', 'library')),
    store_id BIGINT,
    minimum_size BIGINT,
    rules TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    changed_by BIGINT NOT NULL
);

CREATE TABLE job (
    id BIGINT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'running', 'paused', 'finished', 'failed', 'aborted')),
    wish TEXT NOT NULL CHECK (wish IN ('run', 'pause', 'abort')),
    payload TEXT NOT NULL,
    progress TEXT NOT NULL,
    message TEXT NOT NULL,
    runner BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT
);
CREATE INDEX job_state ON job (state, id);

-- What a job could not do, to be tried again.
CREATE TABLE job_error (
    job_id BIGINT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    item TEXT COLLATE "C" NOT NULL,
    message TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (job_id, item)
);

-- Backups that were taken. While one runs, or is kept without its own copy of the BLOBs, nothing that it needs is collected.
CREATE TABLE backup_set (
    id BIGINT NOT NULL PRIMARY KEY,
    destination TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'kept', 'failed', 'removed')),
    needs_stores BOOLEAN NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    finished_at BIGINT,
    bytes BIGINT NOT NULL,
    new_bytes BIGINT NOT NULL,
    message TEXT NOT NULL
);
