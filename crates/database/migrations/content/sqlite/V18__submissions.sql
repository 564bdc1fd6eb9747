-- Drafts that somebody has submitted for approval, and the latest rejections. A row speaks of one version: with a newer
-- draft it is out of date. rejected_by is NULL while the draft waits.
CREATE TABLE submission (
    node_id INTEGER NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    version_id INTEGER NOT NULL,
    submitted_by INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,
    comment TEXT NOT NULL,
    rejected_by INTEGER,
    rejected_at INTEGER,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX submission_waiting ON submission (submitted_at, node_id) WHERE rejected_by IS NULL;

-- Set where drafts are published by approval only.
ALTER TABLE library ADD COLUMN require_approval INTEGER NOT NULL DEFAULT 0 CHECK (require_approval IN (0, 1));
