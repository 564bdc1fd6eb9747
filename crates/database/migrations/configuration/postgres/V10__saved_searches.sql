-- Searches that people saved. The owner has seen the versions in seen, eight bytes each, most significant byte first,
-- and all that were changed before seen_through.
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
    seen_through BIGINT NOT NULL,
    seen BYTEA NOT NULL,
    UNIQUE (owner_id, folded)
);
