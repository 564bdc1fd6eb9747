CREATE TABLE farm (
    id INTEGER NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    server_count INTEGER NOT NULL,
    directory_version INTEGER NOT NULL
) STRICT;

CREATE TABLE setting (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE content_database (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    location TEXT NOT NULL,
    active_store_id INTEGER NOT NULL,
    minimum_size INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE blob_store (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('database', 'directory')),
    state TEXT NOT NULL CHECK (state IN ('active', 'read-only')),
    location TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE site_collection (
    id INTEGER NOT NULL PRIMARY KEY,
    folded TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    database_id INTEGER NOT NULL REFERENCES content_database (id),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE account (
    id INTEGER NOT NULL PRIMARY KEY,
    login TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    email TEXT NOT NULL,
    password_hash TEXT,
    password_version INTEGER NOT NULL,
    farm_administrator INTEGER NOT NULL CHECK (farm_administrator IN (0, 1)),
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    language TEXT NOT NULL,
    theme TEXT NOT NULL CHECK (theme IN ('system', 'light', 'dark')),
    created_at INTEGER NOT NULL,
    signed_in_at INTEGER
) STRICT;

CREATE TABLE principal_group (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE group_member (
    group_id INTEGER NOT NULL REFERENCES principal_group (id) ON DELETE CASCADE,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, account_id)
) STRICT;
CREATE INDEX group_member_account ON group_member (account_id);

-- What a people picker finds a user or group by: login, name, and the name from each of its words on, folded.
CREATE TABLE principal_term (
    term TEXT NOT NULL,
    principal_id INTEGER NOT NULL,
    PRIMARY KEY (term, principal_id)
) STRICT;
CREATE INDEX principal_term_principal ON principal_term (principal_id);

CREATE TABLE role (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    rights INTEGER NOT NULL
) STRICT;

CREATE TABLE access_token (
    id INTEGER NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
) STRICT;
CREATE INDEX access_token_account ON access_token (account_id);

CREATE TABLE web_session (
    id INTEGER NOT NULL PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    password_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
) STRICT;
CREATE INDEX web_session_account ON web_session (account_id);
CREATE INDEX web_session_expiry ON web_session (expires_at);

CREATE TABLE sign_in_throttle (
    subject TEXT NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    blocked_until INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_throttle_changed ON sign_in_throttle (changed_at);

CREATE TABLE event (
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor_id INTEGER NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
