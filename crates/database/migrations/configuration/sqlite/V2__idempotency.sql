-- Answers to requests that made people, groups, roles and site collections under an idempotency key.
CREATE TABLE idempotency (
    key TEXT NOT NULL PRIMARY KEY,
    request BLOB NOT NULL,
    result TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_age ON idempotency (created_at);
