-- Columns that take an entry of another list. A wider CHECK is written in place, as in V14. The last two
-- statements change the schema version, so other connections read the schema anew.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''link'', ''note'')', '''link'', ''note'', ''lookup'')')
    WHERE type = 'table' AND name = 'column_definition';
PRAGMA writable_schema = RESET;
CREATE INDEX column_lookup ON column_definition (kind);
DROP INDEX column_lookup;
