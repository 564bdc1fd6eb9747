-- Copies that were deleted a short time ago. Bytes that were stored before that, and get their reference after it, may have
-- been deleted too.
CREATE TABLE deleted_copy (
    store_id BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    deleted_at BIGINT NOT NULL,
    PRIMARY KEY (store_id, digest)
);
CREATE INDEX deleted_copy_at ON deleted_copy (deleted_at);
