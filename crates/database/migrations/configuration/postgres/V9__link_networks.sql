-- Networks from which links with a password were opened, as hashes, so that guesses elsewhere do not keep them waiting.
CREATE TABLE link_network (
    link_id BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    opened_at BIGINT NOT NULL,
    PRIMARY KEY (link_id, hash)
);
CREATE INDEX link_network_opened_at ON link_network (opened_at);
