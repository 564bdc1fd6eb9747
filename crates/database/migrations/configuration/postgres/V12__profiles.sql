-- What people tell about themselves. The picture is empty for none; the revision counts the changes of a profile.
CREATE TABLE profile (
    account_id BIGINT NOT NULL PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    job_title TEXT COLLATE "C" NOT NULL,
    department TEXT COLLATE "C" NOT NULL,
    office TEXT COLLATE "C" NOT NULL,
    phone TEXT COLLATE "C" NOT NULL,
    web_address TEXT COLLATE "C" NOT NULL,
    about TEXT COLLATE "C" NOT NULL,
    picture_type TEXT COLLATE "C" NOT NULL,
    picture BYTEA NOT NULL
);
