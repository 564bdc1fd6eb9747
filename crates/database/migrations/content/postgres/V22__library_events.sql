-- The library or list of the item of an event; 0 for other items, and for events before this version.
ALTER TABLE event ADD COLUMN library_id BIGINT NOT NULL DEFAULT 0;
-- What happened in a library or list, and to documents, without what is not told.
CREATE INDEX event_library ON event (library_id, sequence)
    WHERE library_id > 0 AND action NOT IN ('document.read', 'column.compute');
CREATE INDEX event_told ON event (sequence)
    WHERE action NOT IN ('document.read', 'row.create', 'row.change', 'column.compute');
