-- Locks that clients hold on items while people edit them. They end by themselves.
CREATE TABLE item_lock (
    token TEXT NOT NULL PRIMARY KEY,
    collection_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    owner_id INTEGER NOT NULL,
    owner TEXT NOT NULL,
    exclusive INTEGER NOT NULL CHECK (exclusive IN (0, 1)),
    deep INTEGER NOT NULL CHECK (deep IN (0, 1)),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX item_lock_node ON item_lock (node_id);
CREATE INDEX item_lock_collection ON item_lock (collection_id);

-- What clients keep with an item and the server does not understand.
CREATE TABLE dead_property (
    node_id INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (node_id, namespace, name)
) STRICT;

-- Documents that a program put aside under another name, in order to put a new state in their place.
CREATE TABLE displaced (
    node_id INTEGER NOT NULL PRIMARY KEY,
    parent_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    by_id INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX displaced_place ON displaced (parent_id, folded);
