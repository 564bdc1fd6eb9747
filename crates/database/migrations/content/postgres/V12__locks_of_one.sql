-- Counts the locks of one person in a site collection without a look at those of all.
DROP INDEX item_lock_collection;
CREATE INDEX item_lock_owner ON item_lock (collection_id, owner_id, expires_at);
