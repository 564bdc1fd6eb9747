-- Searches that people saved. The versions that the owner has seen are eight bytes each, most significant byte first;
-- NULL means that only the time decides what is new.
CREATE TABLE saved_search (
    id BIGINT PRIMARY KEY,
    owner_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    query TEXT NOT NULL,
    sort TEXT NOT NULL CHECK (sort IN ('relevance', 'newest', 'oldest', 'largest', 'smallest')),
    alert TEXT NOT NULL CHECK (alert IN ('none', 'at-once', 'daily')),
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    seen BYTEA,
    UNIQUE (owner_id, folded)
);
