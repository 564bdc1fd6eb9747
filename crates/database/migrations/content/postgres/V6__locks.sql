-- Locks that clients hold on items while people edit them. They end by themselves.
CREATE TABLE item_lock (
    token TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    collection_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    owner_id BIGINT NOT NULL,
    owner TEXT NOT NULL,
    exclusive BOOLEAN NOT NULL,
    deep BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX item_lock_node ON item_lock (node_id);
CREATE INDEX item_lock_collection ON item_lock (collection_id);

-- What clients keep with an item and the server does not understand.
CREATE TABLE dead_property (
    node_id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (node_id, namespace, name)
);

-- Documents that a program put aside under another name, in order to put a new state in their place.
CREATE TABLE displaced (
    node_id BIGINT NOT NULL PRIMARY KEY,
    parent_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    by_id BIGINT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX displaced_place ON displaced (parent_id, folded);
