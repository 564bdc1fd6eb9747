-- When the reference scan first found that no version has this BLOB, and the day on which it was last read.
ALTER TABLE blob ADD COLUMN unreferenced_at INTEGER;
ALTER TABLE blob ADD COLUMN accessed_at INTEGER;
CREATE INDEX blob_unreferenced ON blob (unreferenced_at) WHERE unreferenced_at IS NOT NULL;

-- Copies of BLOBs in stores that nothing refers to any more: kept aside for a while, then deleted. Each content database
-- has its own row, and deletion begins when all agree.
CREATE TABLE reclaim (
    store_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('deleted', 'moved', 'orphan')),
    state TEXT NOT NULL CHECK (state IN ('quarantined', 'deleting')),
    since INTEGER NOT NULL,
    PRIMARY KEY (store_id, digest)
) STRICT;
CREATE INDEX reclaim_since ON reclaim (since);

-- BLOBs that a check found missing or damaged, until somebody resolves it.
CREATE TABLE blob_fault (
    store_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('missing', 'damaged')),
    detail TEXT NOT NULL,
    found_at INTEGER NOT NULL,
    accepted_at INTEGER,
    accepted_by INTEGER,
    PRIMARY KEY (store_id, digest)
) STRICT;
