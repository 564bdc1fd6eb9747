-- The colour of a site collection's pages.
ALTER TABLE site_collection ADD COLUMN accent TEXT NOT NULL DEFAULT 'teal';
