-- For what a user shared: the grants and the links that the user made.
CREATE INDEX scope_grant_by ON scope_grant (granted_by, granted_at);
CREATE INDEX share_link_by ON share_link (created_by, id);

-- A link to a folder is for downloads from it, or takes files into it.
ALTER TABLE share_link ADD COLUMN takes_uploads BOOLEAN NOT NULL DEFAULT FALSE;
-- What the sender of a link writes to its recipients.
ALTER TABLE share_link ADD COLUMN message TEXT NOT NULL DEFAULT '';
