-- Copies that were deleted a short time ago. Bytes that were stored before that, and get their reference after it, may have
-- been deleted too.
CREATE TABLE deleted_copy (
    store_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    deleted_at INTEGER NOT NULL,
    PRIMARY KEY (store_id, digest)
) STRICT;
CREATE INDEX deleted_copy_at ON deleted_copy (deleted_at);
