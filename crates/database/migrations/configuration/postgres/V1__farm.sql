CREATE TABLE farm (
    id BIGINT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    server_count BIGINT NOT NULL,
    directory_version BIGINT NOT NULL
);

CREATE TABLE setting (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE content_database (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    location TEXT NOT NULL,
    active_store_id BIGINT NOT NULL,
    minimum_size BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE blob_store (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('database', 'directory')),
    state TEXT NOT NULL CHECK (state IN ('active', 'read-only')),
    location TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE site_collection (
    id BIGINT NOT NULL PRIMARY KEY,
    folded TEXT COLLATE "C" NOT NULL UNIQUE,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    database_id BIGINT NOT NULL REFERENCES content_database (id),
    created_at BIGINT NOT NULL
);

CREATE TABLE account (
    id BIGINT NOT NULL PRIMARY KEY,
    login TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name TEXT COLLATE "C" NOT NULL,
    email TEXT NOT NULL,
    password_hash TEXT,
    password_version BIGINT NOT NULL,
    farm_administrator BOOLEAN NOT NULL,
    disabled BOOLEAN NOT NULL,
    deleted BOOLEAN NOT NULL,
    language TEXT NOT NULL,
    theme TEXT NOT NULL CHECK (theme IN ('system', 'light', 'dark')),
    created_at BIGINT NOT NULL,
    signed_in_at BIGINT
);

CREATE TABLE principal_group (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL UNIQUE,
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE group_member (
    group_id BIGINT NOT NULL REFERENCES principal_group (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, account_id)
);
CREATE INDEX group_member_account ON group_member (account_id);

-- What a people picker finds a user or group by: login, name, and the name from each of its words on, folded.
CREATE TABLE principal_term (
    term TEXT COLLATE "C" NOT NULL,
    principal_id BIGINT NOT NULL,
    PRIMARY KEY (term, principal_id)
);
CREATE INDEX principal_term_principal ON principal_term (principal_id);

CREATE TABLE role (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL UNIQUE,
    rights BIGINT NOT NULL
);

CREATE TABLE access_token (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT
);
CREATE INDEX access_token_account ON access_token (account_id);

CREATE TABLE web_session (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    hash BYTEA NOT NULL UNIQUE,
    password_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
);
CREATE INDEX web_session_account ON web_session (account_id);
CREATE INDEX web_session_expiry ON web_session (expires_at);

CREATE TABLE sign_in_throttle (
    subject TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL,
    blocked_until BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE INDEX sign_in_throttle_changed ON sign_in_throttle (changed_at);

CREATE TABLE event (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    actor_id BIGINT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    detail TEXT NOT NULL
);
