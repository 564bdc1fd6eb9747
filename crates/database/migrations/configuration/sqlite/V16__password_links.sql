-- Links with which users set a new password, at most one for each account. A link ends with a change of the password.
CREATE TABLE password_link (
    account_id INTEGER NOT NULL PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    password_version INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
