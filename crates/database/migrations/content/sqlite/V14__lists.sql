-- Lists beside libraries, and rows beside documents. A wider CHECK is written in place: copying the table would take
-- as long as it is large. The statements below it change the schema version, so other connections read it anew.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''folder'', ''document'')', '''folder'', ''document'', ''list'', ''row'')')
    WHERE type = 'table' AND name = 'node';
UPDATE sqlite_schema SET sql = replace(sql, '''yes-no'', ''link'')', '''yes-no'', ''link'', ''note'')')
    WHERE type = 'table' AND name = 'column_definition';
PRAGMA writable_schema = RESET;

ALTER TABLE node ADD COLUMN title TEXT;
CREATE INDEX node_row ON node (parent_id, id) WHERE kind = 'row';
DROP INDEX node_container;
DROP INDEX node_place;
CREATE INDEX node_container ON node (parent_id, folded) WHERE kind NOT IN ('document', 'row');
CREATE INDEX node_place ON node (collection_id, id, parent_id, scope_id) WHERE kind NOT IN ('document', 'row');
DROP INDEX node_by_person;
CREATE INDEX node_by_person ON node (parent_id, modified_by, folded) WHERE kind IN ('document', 'row');
ALTER TABLE library ADD COLUMN next_number INTEGER NOT NULL DEFAULT 1;

-- Each column has a slot: a small number by which records and index entries name it. No slot is used twice, not even
-- after its column was removed.
CREATE TABLE slot_counter (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;
ALTER TABLE column_definition ADD COLUMN role TEXT;
ALTER TABLE column_definition ADD COLUMN slot INTEGER NOT NULL DEFAULT 0;
UPDATE column_definition SET slot = numbered.slot
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS slot FROM column_definition) AS numbered
    WHERE numbered.id = column_definition.id;
CREATE UNIQUE INDEX column_definition_slot ON column_definition (slot);
INSERT INTO slot_counter (one, last) SELECT 1, coalesce(max(slot), 0) FROM column_definition;

-- All values of an item in one row, as a JSON object by slot, and one entry for each value by which a view can sort.
CREATE TABLE record (
    node_id INTEGER NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,
    fields TEXT NOT NULL
) STRICT;
CREATE TABLE field_index (
    parent_id INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    number REAL NOT NULL,
    text TEXT NOT NULL,
    node_id INTEGER NOT NULL,
    PRIMARY KEY (parent_id, slot, number, text, node_id)
) STRICT, WITHOUT ROWID;
INSERT INTO record (node_id, revision, fields)
    SELECT v.node_id, v.node_id, json_group_object(CAST(c.slot AS TEXT), CASE c.kind
        WHEN 'number' THEN v.number
        WHEN 'date' THEN v.integer
        WHEN 'yes-no' THEN v.integer
        WHEN 'person' THEN CAST(v.integer AS TEXT)
        ELSE v.text END)
    FROM column_value v JOIN column_definition c ON c.id = v.column_id GROUP BY v.node_id;
INSERT INTO field_index (parent_id, slot, number, text, node_id)
    SELECT v.parent_id, c.slot, CASE c.kind
        WHEN 'number' THEN v.number
        WHEN 'date' THEN CAST(v.integer AS REAL)
        WHEN 'yes-no' THEN CAST(v.integer AS REAL)
        ELSE 0.0 END, CASE
        WHEN c.kind IN ('number', 'date', 'yes-no') THEN ''
        WHEN c.kind = 'person' THEN CAST(v.integer AS TEXT)
        ELSE coalesce(v.folded, '') END, v.node_id
    FROM column_value v JOIN column_definition c ON c.id = v.column_id;
DROP TABLE column_value;

-- Earlier records of rows.
CREATE TABLE revision (
    id INTEGER NOT NULL PRIMARY KEY,
    node_id INTEGER NOT NULL,
    fields TEXT NOT NULL,
    at INTEGER NOT NULL,
    by_id INTEGER NOT NULL
) STRICT;
CREATE INDEX revision_node ON revision (node_id, id);
