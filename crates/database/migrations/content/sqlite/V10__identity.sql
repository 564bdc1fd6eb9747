-- Which database of which farm this is, in one row. It is missing only until the farm has adopted the database.
CREATE TABLE identity (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    farm_id INTEGER NOT NULL,
    database_id INTEGER NOT NULL
) STRICT;

-- What a person has under way is counted at each begin.
CREATE INDEX resumable_upload_owner ON resumable_upload (owner_id) WHERE node_id IS NULL;
