//! Databases of earlier versions: what newer steps did to a new database is taken back.

use database::{Sql, Transaction, Value};
use model::{Id, Result};

pub const SITE: Sql = Sql::new(
    "INSERT INTO node (id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, created_by, \
     modified_at, modified_by, size, media_type, major, minor) \
     VALUES (2, 1, 1, 0, 1, 'site', 'S', 's', 1, 1, 1, 1, 0, '', 0, 0)",
);
pub const LIBRARY: Id = Id::new(2);
pub const FOLDER: Id = Id::new(3);

/// Takes back the steps of a new configuration database after that of saved searches, and executes more statements.
pub fn undo_configuration_steps(tx: &mut Transaction<'_>, more: &[Sql]) -> Result<()> {
    const STEPS: [Sql; 9] = [
        Sql::new("ALTER TABLE backup_set DROP COLUMN drill_faults"),
        Sql::new("ALTER TABLE backup_set DROP COLUMN drilled_at"),
        Sql::new("ALTER TABLE backup_set DROP COLUMN verify_faults"),
        Sql::new("ALTER TABLE backup_set DROP COLUMN verified_at"),
        Sql::new("DROP TABLE password_link"),
        Sql::new("DROP TABLE edit_token"),
        Sql::new("ALTER TABLE account DROP COLUMN time_zone"),
        Sql::new("DROP TABLE profile"),
        Sql::new("DROP TABLE template"),
    ];
    STEPS.iter().chain(more).try_for_each(|step| tx.execute(*step, &[]).map(drop))
}

/// Takes back the steps of a new content database after those that number revisions.
pub fn undo_newest_steps(tx: &mut Transaction<'_>) -> Result<()> {
    const STEPS: [&str; 21] = [
        "ALTER TABLE scope_grant DROP COLUMN expires_at",
        "ALTER TABLE share_link DROP COLUMN message",
        "ALTER TABLE share_link DROP COLUMN takes_uploads",
        "DROP INDEX scope_grant_by",
        "DROP INDEX share_link_by",
        "ALTER TABLE column_definition DROP COLUMN multiple",
        "DROP INDEX node_newest",
        "DROP INDEX event_told",
        "DROP INDEX event_library",
        "ALTER TABLE event DROP COLUMN library_id",
        "DROP TABLE unmeasured",
        "DROP TABLE measured",
        "DROP TABLE measurement",
        "DROP TABLE submission",
        "ALTER TABLE library DROP COLUMN require_approval",
        "ALTER TABLE library DROP COLUMN attachments",
        "DROP INDEX library_recompute",
        "ALTER TABLE library DROP COLUMN recompute_after",
        "ALTER TABLE column_definition DROP COLUMN options",
        "DROP TABLE site_logo",
        "DROP TABLE site",
    ];
    STEPS.into_iter().try_for_each(|step| tx.execute(Sql::new(step), &[]).map(drop))
}

/// Turns a new content database into one without records, with a library, a folder and two documents with values.
pub fn make_content_older(tx: &mut Transaction<'_>) -> Result<()> {
    const STEPS: [Sql; 15] = [
        Sql::new("DROP INDEX node_revision"),
        Sql::new("DROP TABLE record"),
        Sql::new("DROP TABLE field_index"),
        Sql::new("DROP TABLE revision"),
        Sql::new("DROP TABLE slot_counter"),
        Sql::new("DROP INDEX column_definition_slot"),
        Sql::new("ALTER TABLE column_definition DROP COLUMN slot"),
        Sql::new("ALTER TABLE column_definition DROP COLUMN role"),
        Sql::new("ALTER TABLE library DROP COLUMN next_number"),
        Sql::new("DROP INDEX node_row"),
        Sql::new("ALTER TABLE node DROP COLUMN title"),
        Sql::new("DELETE FROM schema_history WHERE version >= 14"),
        Sql::new(
            "INSERT INTO node (id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, \
             created_by, modified_at, modified_by, size, media_type, major, minor) VALUES \
             (2, 1, 1, 2, 1, 'library', 'L', 'l', 1, 1, 1, 1, 0, '', 0, 0), \
             (3, 1, 2, 2, 1, 'folder', 'F', 'f', 1, 1, 1, 1, 0, '', 0, 0), \
             (10, 1, 3, 2, 1, 'document', 'A', 'a', 1, 1, 1, 1, 0, '', 1, 0), \
             (11, 1, 3, 2, 1, 'document', 'B', 'b', 1, 1, 1, 1, 0, '', 1, 0)",
        ),
        Sql::new(
            "INSERT INTO column_definition (id, library_id, name, folded, kind, choices, required, position) \
             SELECT 101, 2, 'T', 't', 'text', '', required, 0 FROM (SELECT 1 = 0 AS required) AS r UNION ALL \
             SELECT 102, 2, 'Z', 'z', 'number', '', 1 = 0, 1 UNION ALL \
             SELECT 103, 2, 'D', 'd', 'date', '', 1 = 0, 2 UNION ALL \
             SELECT 104, 2, 'P', 'p', 'person', '', 1 = 0, 3 UNION ALL \
             SELECT 105, 2, 'Y', 'y', 'yes-no', '', 1 = 0, 4",
        ),
        Sql::new(
            "CREATE TABLE column_value (node_id BIGINT NOT NULL, column_id BIGINT NOT NULL, text TEXT, \
             number DOUBLE PRECISION, integer BIGINT, parent_id BIGINT NOT NULL, folded TEXT)",
        ),
    ];
    const VALUES: Sql = Sql::new(
        "INSERT INTO column_value (node_id, column_id, text, number, integer, parent_id, folded) VALUES \
         (10, 101, $1, NULL, NULL, 3, 'b'), (10, 102, NULL, 0.1, NULL, 3, NULL), \
         (10, 103, NULL, NULL, 1763500000123456, 3, NULL), (10, 104, NULL, NULL, 9007199254740993, 3, NULL), \
         (10, 105, NULL, NULL, 1, 3, NULL), (11, 101, 'A', NULL, NULL, 3, 'a'), (11, 102, NULL, -2, NULL, 3, NULL)",
    );
    undo_newest_steps(tx)?;
    for step in STEPS {
        tx.execute(step, &[])?;
    }
    tx.execute(VALUES, &[Value::from("b \"quoted\" \u{f6}")]).map(drop)
}

/// Settings of a list and of a library.
pub const OLDER_SETTINGS: Sql = Sql::new(
    "INSERT INTO library (node_id, versioning, major_limit, minor_limit, require_checkout, next_number) \
     VALUES (2, 'major', 100, 10, 1 = 0, 2), (3, 'major', 100, 10, 1 = 0, 1)",
);

/// Turns a new content database into the one before it, with a list and a row of three revisions.
pub fn make_revisions_older(tx: &mut Transaction<'_>) -> Result<()> {
    const STEPS: [Sql; 7] = [
        Sql::new("DROP INDEX node_revision"),
        Sql::new("DROP INDEX revision_number"),
        Sql::new("ALTER TABLE revision DROP COLUMN number"),
        Sql::new("CREATE INDEX revision_node ON revision (node_id, id)"),
        Sql::new("ALTER TABLE record ADD COLUMN revision INTEGER NOT NULL DEFAULT 0"),
        Sql::new("DELETE FROM schema_history WHERE version >= 15"),
        Sql::new(
            "INSERT INTO node (id, collection_id, parent_id, library_id, scope_id, kind, name, folded, created_at, \
             created_by, modified_at, modified_by, size, media_type, major, minor, version_id, title) VALUES \
             (2, 1, 1, 2, 1, 'list', 'L', 'l', 1, 1, 1, 1, 0, '', 0, 0, NULL, NULL), \
             (3, 1, 1, 3, 1, 'library', 'M', 'm', 1, 1, 1, 1, 0, '', 0, 0, NULL, NULL), \
             (10, 1, 2, 2, 1, 'row', '1', '1', 1, 1, 1, 1, 0, '', 0, 0, 77, 'T')",
        ),
    ];
    const REVISIONS: Sql =
        Sql::new("INSERT INTO revision (id, node_id, fields, at, by_id) VALUES (70, 10, $1, 1, 1), (71, 10, $1, 2, 1)");
    undo_newest_steps(tx)?;
    STEPS.into_iter().try_for_each(|step| tx.execute(step, &[]).map(drop))?;
    tx.execute(REVISIONS, &database::params!["{}"]).map(drop)
}
