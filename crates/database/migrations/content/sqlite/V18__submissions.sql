-- Drafts that somebody has submitted for approval, and the latest rejections. A row speaks of one version: with a newer
-- draft it is out of date. decided_by is NULL while nobody has decided.
CREATE TABLE submission (
    node_id INTEGER NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    version_id INTEGER NOT NULL,
    submitted_by INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,
    comment TEXT NOT NULL,
    decided_by INTEGER,
    decided_at INTEGER,
    decision TEXT NOT NULL
) STRICT;
CREATE INDEX submission_waiting ON submission (submitted_at, node_id) WHERE decided_by IS NULL;

-- Set where drafts are published by approval only.
ALTER TABLE library ADD COLUMN approval INTEGER NOT NULL DEFAULT 0 CHECK (approval IN (0, 1));
