-- Passwords that nobody may have, as a coded set of their SHA-1 sums in parts. The newest complete list is in use.
CREATE TABLE password_list (
    id INTEGER NOT NULL PRIMARY KEY,
    entries INTEGER NOT NULL,
    bits INTEGER NOT NULL CHECK (bits BETWEEN 0 AND 20),
    made_at INTEGER NOT NULL,
    complete INTEGER NOT NULL CHECK (complete IN (0, 1))
) STRICT;
CREATE TABLE password_list_part (
    list_id INTEGER NOT NULL REFERENCES password_list (id) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    coded BLOB NOT NULL,
    PRIMARY KEY (list_id, part)
) STRICT;
