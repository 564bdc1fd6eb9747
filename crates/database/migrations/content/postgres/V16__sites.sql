-- What belongs to a site and to no other item: the template that it was made from, and its navigation and accent as a JSON
-- object. A site without a row has neither. The logo is apart, because every page reads the options.
CREATE TABLE site (
    node_id BIGINT NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    template TEXT NOT NULL,
    options TEXT NOT NULL
);
CREATE TABLE site_logo (
    node_id BIGINT NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    media_type TEXT NOT NULL,
    bytes BYTEA NOT NULL
);
