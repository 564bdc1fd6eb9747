-- BLOB stores that the farm forgot: an upload that began before must not refer to them. Identifiers are never used again.
CREATE TABLE removed_store (
    store_id BIGINT NOT NULL PRIMARY KEY
);
