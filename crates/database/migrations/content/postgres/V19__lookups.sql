-- Columns that take an entry of another list.
ALTER TABLE column_definition DROP CONSTRAINT column_definition_kind_check;
ALTER TABLE column_definition ADD CONSTRAINT column_definition_kind_check
    CHECK (kind IN ('text', 'number', 'date', 'choice', 'person', 'yes-no', 'link', 'note', 'lookup')) NOT VALID;
