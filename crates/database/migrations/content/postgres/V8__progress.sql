-- What migrations have moved, counted in the transactions that move it, so that the sum is right however a job was cut short.
CREATE TABLE job_progress (
    job_id BIGINT NOT NULL PRIMARY KEY,
    moved BIGINT NOT NULL,
    moved_bytes BIGINT NOT NULL,
    lost BIGINT NOT NULL
);
