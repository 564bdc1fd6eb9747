-- Links with which users set a new password, at most one for each account. A link ends with a change of the password.
CREATE TABLE password_link (
    account_id BIGINT NOT NULL PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    hash BYTEA NOT NULL UNIQUE,
    password_version BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
