CREATE TABLE collection (
    id BIGINT NOT NULL PRIMARY KEY,
    path TEXT NOT NULL,
    tree_version BIGINT NOT NULL,
    quota_bytes BIGINT,
    audit_reads BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE collection_usage (
    collection_id BIGINT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    slot BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    documents BIGINT NOT NULL,
    PRIMARY KEY (collection_id, slot)
);

CREATE TABLE scope (
    id BIGINT NOT NULL PRIMARY KEY,
    collection_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL UNIQUE
);

CREATE TABLE scope_grant (
    scope_id BIGINT NOT NULL REFERENCES scope (id) ON DELETE CASCADE,
    principal_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    granted_at BIGINT NOT NULL,
    granted_by BIGINT NOT NULL,
    PRIMARY KEY (scope_id, principal_id, role_id)
);
CREATE INDEX scope_grant_principal ON scope_grant (principal_id);

CREATE TABLE node (
    id BIGINT NOT NULL PRIMARY KEY,
    collection_id BIGINT NOT NULL,
    parent_id BIGINT NOT NULL,
    library_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('site', 'library', 'folder', 'document')),
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    created_by BIGINT NOT NULL,
    modified_at BIGINT NOT NULL,
    modified_by BIGINT NOT NULL,
    content_type_id BIGINT,
    size BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    version_id BIGINT,
    published_id BIGINT,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    holder_id BIGINT,
    held_at BIGINT,
    working_id BIGINT,
    UNIQUE (parent_id, folded)
);
CREATE INDEX node_container ON node (parent_id, folded) WHERE kind <> 'document';
CREATE INDEX node_modified ON node (parent_id, modified_at);
CREATE INDEX node_holder ON node (holder_id) WHERE holder_id IS NOT NULL;

CREATE TABLE library (
    node_id BIGINT NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    versioning TEXT NOT NULL CHECK (versioning IN ('none', 'major', 'major-minor')),
    major_limit BIGINT NOT NULL,
    minor_limit BIGINT NOT NULL,
    require_checkout BOOLEAN NOT NULL
);

CREATE TABLE blob (
    id BIGINT NOT NULL PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,
    size BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    locator BYTEA,
    created_at BIGINT NOT NULL
);

CREATE TABLE stored_blob (
    id BIGINT NOT NULL PRIMARY KEY,
    digest BYTEA UNIQUE,
    size BIGINT NOT NULL,
    stored_at BIGINT NOT NULL
);

CREATE TABLE stored_chunk (
    stored_id BIGINT NOT NULL REFERENCES stored_blob (id) ON DELETE CASCADE,
    part BIGINT NOT NULL,
    checksum BYTEA NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (stored_id, part)
);
ALTER TABLE stored_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE version (
    id BIGINT NOT NULL PRIMARY KEY,
    node_id BIGINT NOT NULL,
    blob_id BIGINT NOT NULL REFERENCES blob (id),
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    working BOOLEAN NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by BIGINT NOT NULL,
    modified_at BIGINT NOT NULL,
    comment TEXT NOT NULL
);
CREATE INDEX version_node ON version (node_id, id);
CREATE INDEX version_blob ON version (blob_id);

CREATE TABLE content_type (
    id BIGINT NOT NULL PRIMARY KEY,
    library_id BIGINT NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    UNIQUE (library_id, folded)
);

CREATE TABLE column_definition (
    id BIGINT NOT NULL PRIMARY KEY,
    library_id BIGINT NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    content_type_id BIGINT REFERENCES content_type (id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('text', 'number', 'date', 'choice', 'person', 'yes-no', 'link')),
    choices TEXT NOT NULL,
    required BOOLEAN NOT NULL,
    position BIGINT NOT NULL,
    UNIQUE (library_id, folded)
);

CREATE TABLE column_value (
    node_id BIGINT NOT NULL,
    column_id BIGINT NOT NULL REFERENCES column_definition (id) ON DELETE CASCADE,
    text TEXT,
    number DOUBLE PRECISION,
    integer BIGINT,
    PRIMARY KEY (node_id, column_id)
);
CREATE INDEX column_value_column ON column_value (column_id);

CREATE TABLE recycled (
    id BIGINT NOT NULL PRIMARY KEY,
    collection_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    parent_id BIGINT NOT NULL,
    library_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    path TEXT NOT NULL,
    stage TEXT COLLATE "C" NOT NULL CHECK (stage IN ('person', 'site')),
    size BIGINT NOT NULL,
    documents BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    deleted_by BIGINT NOT NULL
);
CREATE INDEX recycled_person ON recycled (collection_id, deleted_by, id);
CREATE INDEX recycled_stage ON recycled (collection_id, stage, id);

CREATE TABLE idempotency (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    request BYTEA NOT NULL,
    result TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE resumable_upload (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner_id BIGINT NOT NULL,
    collection_id BIGINT NOT NULL,
    parent_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    length BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    node_id BIGINT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX resumable_upload_expiry ON resumable_upload (expires_at);

CREATE TABLE event (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    actor_id BIGINT NOT NULL,
    collection_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX event_node ON event (node_id, sequence);
