-- Places of a site collection with their scopes: a search decides by them what the caller may find.
CREATE INDEX node_place ON node (collection_id, id, parent_id, scope_id) WHERE kind <> 'document';
