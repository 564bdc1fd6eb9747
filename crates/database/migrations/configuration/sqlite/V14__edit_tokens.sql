-- Tokens in addresses with which office programs edit one document. A token ends with a change of the password, an hour
-- after its last use, or after a day; created_at is 0 for one that was ended before.
CREATE TABLE edit_token (
    id INTEGER NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    document_id INTEGER NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    password_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;
CREATE INDEX edit_token_account ON edit_token (account_id);
CREATE INDEX edit_token_used ON edit_token (used_at);
