-- Devices and addresses from which somebody signed in: they have a budget of their own for wrong passwords.
CREATE TABLE known_device (
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    hash BYTEA NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, hash)
);
CREATE INDEX known_device_hash ON known_device (hash);
CREATE INDEX known_device_seen ON known_device (seen_at);

-- What a token may do; none for tokens from before there were scopes, which may do all that their owner may.
ALTER TABLE access_token ADD COLUMN scopes BIGINT;

-- The only sites, libraries and folders that exist for a token.
CREATE TABLE token_place (
    token_id BIGINT NOT NULL REFERENCES access_token (id) ON DELETE CASCADE,
    node_id BIGINT NOT NULL,
    PRIMARY KEY (token_id, node_id)
);

-- When and from where the user of a session last proved who they are.
ALTER TABLE web_session ADD COLUMN proved_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE web_session ADD COLUMN proved_address TEXT NOT NULL DEFAULT '';
