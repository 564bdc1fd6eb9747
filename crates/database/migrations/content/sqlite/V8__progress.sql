-- What migrations have moved, counted in the transactions that move it, so that the sum is right however a job was cut short.
CREATE TABLE job_progress (
    job_id INTEGER NOT NULL PRIMARY KEY,
    moved INTEGER NOT NULL,
    moved_bytes INTEGER NOT NULL,
    lost INTEGER NOT NULL
) STRICT;
