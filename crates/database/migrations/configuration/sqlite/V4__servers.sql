-- Servers of the farm that say now and then that they run. One that ends in order takes its row away.
CREATE TABLE server (
    id INTEGER NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    address TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;
