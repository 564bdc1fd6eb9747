CREATE TABLE collection (
    id INTEGER NOT NULL PRIMARY KEY,
    path TEXT NOT NULL,
    tree_version INTEGER NOT NULL,
    quota_bytes INTEGER,
    audit_reads INTEGER NOT NULL CHECK (audit_reads IN (0, 1)),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE collection_usage (
    collection_id INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    slot INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    PRIMARY KEY (collection_id, slot)
) STRICT;

CREATE TABLE scope (
    id INTEGER NOT NULL PRIMARY KEY,
    collection_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE scope_grant (
    scope_id INTEGER NOT NULL REFERENCES scope (id) ON DELETE CASCADE,
    principal_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    granted_by INTEGER NOT NULL,
    PRIMARY KEY (scope_id, principal_id, role_id)
) STRICT;
CREATE INDEX scope_grant_principal ON scope_grant (principal_id);

CREATE TABLE node (
    id INTEGER NOT NULL PRIMARY KEY,
    collection_id INTEGER NOT NULL,
    parent_id INTEGER NOT NULL,
    library_id INTEGER NOT NULL,
    scope_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('site', 'library', 'folder', 'document')),
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    modified_by INTEGER NOT NULL,
    content_type_id INTEGER,
    size INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    version_id INTEGER,
    published_id INTEGER,
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    holder_id INTEGER,
    held_at INTEGER,
    working_id INTEGER,
    UNIQUE (parent_id, folded)
) STRICT;
CREATE INDEX node_container ON node (parent_id, folded) WHERE kind <> 'document';
CREATE INDEX node_modified ON node (parent_id, modified_at);
CREATE INDEX node_holder ON node (holder_id) WHERE holder_id IS NOT NULL;

CREATE TABLE library (
    node_id INTEGER NOT NULL PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    versioning TEXT NOT NULL CHECK (versioning IN ('none', 'major', 'major-minor')),
    major_limit INTEGER NOT NULL,
    minor_limit INTEGER NOT NULL,
    require_checkout INTEGER NOT NULL CHECK (require_checkout IN (0, 1))
) STRICT;

CREATE TABLE blob (
    id INTEGER NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    store_id INTEGER NOT NULL,
    locator BLOB,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE stored_blob (
    id INTEGER NOT NULL PRIMARY KEY,
    digest BLOB UNIQUE,
    size INTEGER NOT NULL,
    stored_at INTEGER NOT NULL
) STRICT;

CREATE TABLE stored_chunk (
    stored_id INTEGER NOT NULL REFERENCES stored_blob (id) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (stored_id, part)
) STRICT;

CREATE TABLE version (
    id INTEGER NOT NULL PRIMARY KEY,
    node_id INTEGER NOT NULL,
    blob_id INTEGER NOT NULL REFERENCES blob (id),
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    working INTEGER NOT NULL CHECK (working IN (0, 1)),
    size INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    comment TEXT NOT NULL
) STRICT;
CREATE INDEX version_node ON version (node_id, id);
CREATE INDEX version_blob ON version (blob_id);

CREATE TABLE content_type (
    id INTEGER NOT NULL PRIMARY KEY,
    library_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    UNIQUE (library_id, folded)
) STRICT;

CREATE TABLE column_definition (
    id INTEGER NOT NULL PRIMARY KEY,
    library_id INTEGER NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    content_type_id INTEGER REFERENCES content_type (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('text', 'number', 'date', 'choice', 'person', 'yes-no', 'link')),
    choices TEXT NOT NULL,
    required INTEGER NOT NULL CHECK (required IN (0, 1)),
    position INTEGER NOT NULL,
    UNIQUE (library_id, folded)
) STRICT;

CREATE TABLE column_value (
    node_id INTEGER NOT NULL,
    column_id INTEGER NOT NULL REFERENCES column_definition (id) ON DELETE CASCADE,
    text TEXT,
    number REAL,
    integer INTEGER,
    PRIMARY KEY (node_id, column_id)
) STRICT;
CREATE INDEX column_value_column ON column_value (column_id);

CREATE TABLE recycled (
    id INTEGER NOT NULL PRIMARY KEY,
    collection_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    parent_id INTEGER NOT NULL,
    library_id INTEGER NOT NULL,
    scope_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('person', 'site')),
    size INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL,
    deleted_by INTEGER NOT NULL
) STRICT;
CREATE INDEX recycled_person ON recycled (collection_id, deleted_by, id);
CREATE INDEX recycled_stage ON recycled (collection_id, stage, id);

CREATE TABLE idempotency (
    key TEXT NOT NULL PRIMARY KEY,
    request BLOB NOT NULL,
    result TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE resumable_upload (
    id TEXT NOT NULL PRIMARY KEY,
    owner_id INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    parent_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    length INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    node_id INTEGER,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX resumable_upload_expiry ON resumable_upload (expires_at);

CREATE TABLE event (
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor_id INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX event_node ON event (node_id, sequence);
