-- Drafts of somebody, newest first: the first page looks for them, and few documents are drafts.
CREATE INDEX node_draft ON node (modified_by, modified_at, id) WHERE kind = 'document' AND minor > 0;
