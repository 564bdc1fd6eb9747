-- Lists beside libraries, and rows beside documents. The wider CHECK holds for all rows already, so none is read.
ALTER TABLE node DROP CONSTRAINT node_kind_check;
ALTER TABLE node ADD CONSTRAINT node_kind_check
    CHECK (kind IN ('site', 'library', 'folder', 'document', 'list', 'row')) NOT VALID;
ALTER TABLE column_definition DROP CONSTRAINT column_definition_kind_check;
ALTER TABLE column_definition ADD CONSTRAINT column_definition_kind_check
    CHECK (kind IN ('text', 'number', 'date', 'choice', 'person', 'yes-no', 'link', 'note')) NOT VALID;

ALTER TABLE node ADD COLUMN title TEXT COLLATE "C";
CREATE INDEX node_row ON node (parent_id, id) WHERE kind = 'row';
DROP INDEX node_container;
DROP INDEX node_place;
CREATE INDEX node_container ON node (parent_id, folded) WHERE kind NOT IN ('document', 'row');
CREATE INDEX node_place ON node (collection_id, id, parent_id, scope_id) WHERE kind NOT IN ('document', 'row');
DROP INDEX node_by_person;
CREATE INDEX node_by_person ON node (parent_id, modified_by, folded) WHERE kind IN ('document', 'row');
ALTER TABLE library ADD COLUMN next_number BIGINT NOT NULL DEFAULT 1;

-- Each column has a slot: a small number by which records and index entries name it. No slot is used twice, not even
-- after its column was removed.
CREATE TABLE slot_counter (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    last BIGINT NOT NULL
);
ALTER TABLE column_definition ADD COLUMN role TEXT;
ALTER TABLE column_definition ADD COLUMN slot BIGINT NOT NULL DEFAULT 0;
UPDATE column_definition SET slot = numbered.slot
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS slot FROM column_definition) AS numbered
    WHERE numbered.id = column_definition.id;
CREATE UNIQUE INDEX column_definition_slot ON column_definition (slot);
INSERT INTO slot_counter (one, last) SELECT 1, coalesce(max(slot), 0) FROM column_definition;

-- All values of an item in one row, as a JSON object by slot, and one entry for each value by which a view can sort.
CREATE TABLE record (
    node_id BIGINT NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,
    fields TEXT NOT NULL
);
CREATE TABLE field_index (
    parent_id BIGINT NOT NULL,
    slot BIGINT NOT NULL,
    number DOUBLE PRECISION NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    node_id BIGINT NOT NULL,
    PRIMARY KEY (parent_id, slot, number, text, node_id)
);
INSERT INTO record (node_id, revision, fields)
    SELECT v.node_id, v.node_id, json_object_agg(c.slot::text, CASE c.kind
        WHEN 'number' THEN to_json(v.number)
        WHEN 'date' THEN to_json(v.integer)
        WHEN 'yes-no' THEN to_json(v.integer)
        WHEN 'person' THEN to_json(v.integer::text)
        ELSE to_json(v.text) END)::text
    FROM column_value v JOIN column_definition c ON c.id = v.column_id GROUP BY v.node_id;
INSERT INTO field_index (parent_id, slot, number, text, node_id)
    SELECT v.parent_id, c.slot, CASE c.kind
        WHEN 'number' THEN v.number
        WHEN 'date' THEN v.integer::double precision
        WHEN 'yes-no' THEN v.integer::double precision
        ELSE 0 END, CASE
        WHEN c.kind IN ('number', 'date', 'yes-no') THEN ''
        WHEN c.kind = 'person' THEN v.integer::text
        ELSE coalesce(v.folded, '') END, v.node_id
    FROM column_value v JOIN column_definition c ON c.id = v.column_id;
DROP TABLE column_value;

-- Earlier records of rows.
CREATE TABLE revision (
    id BIGINT NOT NULL PRIMARY KEY,
    node_id BIGINT NOT NULL,
    fields TEXT NOT NULL,
    at BIGINT NOT NULL,
    by_id BIGINT NOT NULL
);
CREATE INDEX revision_node ON revision (node_id, id);
