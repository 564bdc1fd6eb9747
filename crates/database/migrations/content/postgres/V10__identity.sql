-- Which database of which farm this is, in one row. It is missing only until the farm has adopted the database.
CREATE TABLE identity (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    farm_id BIGINT NOT NULL,
    database_id BIGINT NOT NULL
);
