-- Templates that people saved: for one site collection, or for all of them (collection_id 0). The summary has title and
-- description as a JSON object, so that a list of templates reads no texts.
CREATE TABLE template (
    id BIGINT NOT NULL PRIMARY KEY,
    collection_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('site', 'list')),
    summary TEXT NOT NULL,
    text TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    changed_by BIGINT NOT NULL,
    UNIQUE (collection_id, name)
);
