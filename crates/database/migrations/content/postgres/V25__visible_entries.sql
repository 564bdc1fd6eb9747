-- Searching entries for a part of a text reads the index alone, but only where the table has been vacuumed since its
-- rows were added. By default that is when a fifth of the table is new, which one large list among many never is.
ALTER TABLE field_index SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000);
