-- What people tell about themselves. The picture is empty for none; the revision counts the changes of a profile.
CREATE TABLE profile (
    account_id INTEGER NOT NULL PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    job_title TEXT NOT NULL,
    department TEXT NOT NULL,
    office TEXT NOT NULL,
    phone TEXT NOT NULL,
    web_address TEXT NOT NULL,
    about TEXT NOT NULL,
    picture_type TEXT NOT NULL,
    picture BLOB NOT NULL
) STRICT;
