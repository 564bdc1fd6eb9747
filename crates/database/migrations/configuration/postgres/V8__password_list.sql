-- Passwords that nobody may have, as a coded set of their SHA-1 sums in parts. The newest complete list is in use.
CREATE TABLE password_list (
    id BIGINT PRIMARY KEY,
    entries BIGINT NOT NULL,
    bits BIGINT NOT NULL CHECK (bits BETWEEN 0 AND 20),
    made_at BIGINT NOT NULL,
    complete BOOLEAN NOT NULL
);
CREATE TABLE password_list_part (
    list_id BIGINT NOT NULL REFERENCES password_list (id) ON DELETE CASCADE,
    part BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    coded BYTEA NOT NULL,
    PRIMARY KEY (list_id, part)
);
