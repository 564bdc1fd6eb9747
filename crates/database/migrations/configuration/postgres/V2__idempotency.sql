-- Answers to requests that made people, groups, roles and site collections under an idempotency key.
CREATE TABLE idempotency (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    request BYTEA NOT NULL,
    result TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX idempotency_age ON idempotency (created_at);
