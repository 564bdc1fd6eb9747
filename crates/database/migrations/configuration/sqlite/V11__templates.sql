-- Templates that people saved: for one site collection, or for all of them (collection_id 0). The summary has title and
-- description as a JSON object, so that a list of templates reads no texts.
CREATE TABLE template (
    id INTEGER NOT NULL PRIMARY KEY,
    collection_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('site', 'list')),
    summary TEXT NOT NULL,
    text TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by INTEGER NOT NULL,
    UNIQUE (collection_id, name)
) STRICT;
