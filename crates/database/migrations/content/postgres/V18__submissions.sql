-- Drafts that somebody has submitted for approval, and the latest rejections. A row speaks of one version: with a newer
-- draft it is out of date. rejected_by is NULL while the draft waits.
CREATE TABLE submission (
    node_id BIGINT NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    version_id BIGINT NOT NULL,
    submitted_by BIGINT NOT NULL,
    submitted_at BIGINT NOT NULL,
    comment TEXT NOT NULL,
    rejected_by BIGINT,
    rejected_at BIGINT,
    reason TEXT NOT NULL
);
CREATE INDEX submission_waiting ON submission (submitted_at, node_id) WHERE rejected_by IS NULL;

-- Set where drafts are published by approval only.
ALTER TABLE library ADD COLUMN require_approval BOOLEAN NOT NULL DEFAULT FALSE;
