-- The revision of a row is that of its item. That of other items was never read.
ALTER TABLE record DROP COLUMN revision;

-- The revisions of a row are numbered, because identifiers given by several servers are not in the order of time.
ALTER TABLE revision ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE revision SET number = numbered.number
    FROM (SELECT id, row_number() OVER (PARTITION BY node_id ORDER BY id) AS number FROM revision) AS numbered
    WHERE numbered.id = revision.id;
DROP INDEX revision_node;
CREATE UNIQUE INDEX revision_number ON revision (node_id, number);
UPDATE node SET major = 1 + (SELECT count(*) FROM revision WHERE revision.node_id = node.id) WHERE kind = 'row';

-- The newest identifier must be found in any content database, so that none is given twice.
CREATE INDEX node_revision ON node (version_id) WHERE kind = 'row';

-- Titles are shown in every listing. The whole text is in the record.
UPDATE node SET title = substr(title, 1, 255) WHERE kind = 'row' AND length(title) > 255;
