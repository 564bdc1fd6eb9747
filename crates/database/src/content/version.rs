//! Versions of documents, and the location of their bytes.

use model::{Digest, Id, Result, Timestamp, VersionNumber};

use super::node::number;
use crate::{Reader, Row, Transaction, params, statements};

/// The columns that [`read_from`] expects, in its order: those of the version `v` and of its BLOB `b`.
macro_rules! version_columns {
    () => {
        concat!(
            $crate::statement::column_list!("v": id, node_id, blob_id, major, minor, working, size, media_type,
                created_at, created_by, modified_at, comment),
            ", ",
            $crate::statement::column_list!("b": digest, store_id, locator)
        )
    };
}

pub(super) use version_columns;

statements! {
    FIND = concat!("SELECT ", version_columns!(), "
        FROM version v JOIN blob b ON b.id = v.blob_id WHERE v.id = $1");
    FIND_MANY = concat!("SELECT ", version_columns!(), "
        FROM version v JOIN blob b ON b.id = v.blob_id WHERE v.id {in $1}");
    FIND_NUMBER = concat!("SELECT ", version_columns!(), "
        FROM version v JOIN blob b ON b.id = v.blob_id
        WHERE v.node_id = $1 AND v.major = $2 AND v.minor = $3 AND NOT v.working");
    LIST = concat!("SELECT ", version_columns!(), "
        FROM version v JOIN blob b ON b.id = v.blob_id
        WHERE v.node_id = $1 AND NOT v.working ORDER BY v.major DESC, v.minor DESC, v.id DESC LIMIT $2");
    LIST_BELOW = concat!("SELECT ", version_columns!(), "
        FROM version v JOIN blob b ON b.id = v.blob_id
        WHERE v.node_id = $1 AND NOT v.working AND (v.major, v.minor, v.id) < ($2, $3, $4)
        ORDER BY v.major DESC, v.minor DESC, v.id DESC LIMIT $5");
    LIST_OLDER = concat!("SELECT ", version_columns!(), "
        FROM version v JOIN blob b ON b.id = v.blob_id
        WHERE v.node_id = $1 AND v.id < $2 AND NOT v.working ORDER BY v.major DESC, v.minor DESC, v.id DESC LIMIT $3");
    NEWEST_ID = "SELECT MAX(id) FROM version";
    HOLDERS = "SELECT DISTINCT node_id FROM version WHERE blob_id = $1 AND node_id <> $2 AND NOT working ORDER BY
        node_id DESC LIMIT $3";
    INSERT = "INSERT INTO version (id, node_id, blob_id, major, minor, working, size, media_type, created_at,
        created_by,
        modified_at, comment) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    PROMOTE = "UPDATE version SET working = $2, major = $3, minor = $4, comment = $5, created_at = $6 WHERE id = $1";
    RENUMBER = "UPDATE version SET major = $2, minor = $3, comment = $4 WHERE id = $1";
    DELETE = "DELETE FROM version WHERE id = $1";
    EXCESS_MAJOR = "SELECT id, size FROM version WHERE node_id = $1 AND minor = 0 AND NOT working ORDER BY major
        DESC, id DESC LIMIT 100 OFFSET $2";
    NTH_MAJOR = "SELECT major FROM version WHERE node_id = $1 AND minor = 0 AND NOT working ORDER BY major DESC, id
        DESC LIMIT 1 OFFSET $2";
    OLD_DRAFTS = "SELECT id, size FROM version WHERE node_id = $1 AND minor > 0 AND NOT working AND major < $2";
}

/// A stored version, with the location of its bytes.
#[derive(Clone, Debug)]
pub struct VersionRow {
    /// Identifier. It does not order the versions; their numbers do.
    pub id: Id,
    /// The document.
    pub node_id: Id,
    /// The row of its BLOB.
    pub blob_id: Id,
    /// Its number.
    pub number: VersionNumber,
    /// Set for the working copy of a check-out, which has no number yet.
    pub working: bool,
    /// Size in bytes.
    pub size: i64,
    /// Media type.
    pub media_type: String,
    /// Time at which it was stored.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// Time of the last change to the content as reported by the client, otherwise `created_at`.
    pub modified_at: Timestamp,
    /// Comment by its author.
    pub comment: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// The store that holds the bytes.
    pub store_id: Id,
    /// The store's last known locator of the bytes.
    pub locator: Option<Vec<u8>>,
}

fn read(row: &Row<'_>) -> Result<VersionRow> {
    read_from(row, 0)
}

/// Reads a version from the columns of `version_columns!`, the first of which is `at`.
pub(crate) fn read_from(row: &Row<'_>, at: usize) -> Result<VersionRow> {
    Ok(VersionRow {
        id: row.get(at)?,
        node_id: row.get(at + 1)?,
        blob_id: row.get(at + 2)?,
        number: VersionNumber::new(number(row, at + 3)?, number(row, at + 4)?),
        working: row.get(at + 5)?,
        size: row.get(at + 6)?,
        media_type: row.get(at + 7)?,
        created_at: row.get(at + 8)?,
        created_by: row.get(at + 9)?,
        modified_at: row.get(at + 10)?,
        comment: row.get(at + 11)?,
        digest: row.get(at + 12)?,
        store_id: row.get(at + 13)?,
        locator: row.get(at + 14)?,
    })
}

/// The version with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<VersionRow>> {
    reader.find(FIND, &params![id], read)
}

/// The versions with these identifiers, in any order. Those that do not exist are missing.
pub fn find_many(reader: &mut Reader<'_>, ids: &[Id]) -> Result<Vec<VersionRow>> {
    reader.query(FIND_MANY, &params![ids], read)
}

/// The version of a document with this number.
pub fn find_number(reader: &mut Reader<'_>, node: Id, number: VersionNumber) -> Result<Option<VersionRow>> {
    reader.find(FIND_NUMBER, &params![node, number.major, number.minor], read)
}

/// Versions of a document below the version `before`, highest number first.
pub fn list(reader: &mut Reader<'_>, node: Id, before: Option<Id>, limit: usize) -> Result<Vec<VersionRow>> {
    let Some(before) = before else { return reader.query(LIST, &params![node, limit as i64], read) };
    match find(reader, before)?.map(|row| row.number) {
        Some(number) => {
            reader.query(LIST_BELOW, &params![node, number.major, number.minor, before, limit as i64], read)
        }
        // The version was removed since the previous page was read. Identifiers follow the numbers unless a clock was
        // changed.
        None => reader.query(LIST_OLDER, &params![node, before, limit as i64], read),
    }
}

/// The greatest identifier of all versions.
pub fn newest_id(reader: &mut Reader<'_>) -> Result<Option<Id>> {
    Ok(reader.find(NEWEST_ID, &[], |row| row.get::<Option<Id>>(0))?.flatten())
}

/// Other documents that have a version with these bytes, newest first.
pub fn holders(reader: &mut Reader<'_>, blob: Id, except: Id, limit: usize) -> Result<Vec<Id>> {
    reader.query(HOLDERS, &params![blob, except, limit as i64], |row| row.get(0))
}

/// Adds a version. `digest`, `store_id` and `locator` belong to the row of the BLOB and are not stored here.
pub fn insert(transaction: &mut Transaction<'_>, version: &VersionRow) -> Result<()> {
    let values = params![
        version.id,
        version.node_id,
        version.blob_id,
        version.number.major,
        version.number.minor,
        version.working,
        version.size,
        &version.media_type,
        version.created_at,
        version.created_by,
        version.modified_at,
        &version.comment
    ];
    transaction.execute_deferred(INSERT, &values)
}

/// Turns a working copy into a numbered version.
pub fn promote(
    transaction: &mut Transaction<'_>,
    id: Id,
    number: VersionNumber,
    comment: &str,
    now: Timestamp,
) -> Result<()> {
    transaction.execute(PROMOTE, &params![id, false, number.major, number.minor, comment, now]).map(drop)
}

/// Changes the number and comment of a version, when a draft is published or a publication is withdrawn.
pub fn renumber(transaction: &mut Transaction<'_>, id: Id, number: VersionNumber, comment: &str) -> Result<()> {
    transaction.execute(RENUMBER, &params![id, number.major, number.minor, comment]).map(drop)
}

/// Deletes a version's row permanently.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// Published versions beyond the newest `keep`, at most 100: identifiers and sizes.
pub fn excess_major(reader: &mut Reader<'_>, node: Id, keep: u32) -> Result<Vec<(Id, i64)>> {
    reader.query(EXCESS_MAJOR, &params![node, keep], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Drafts that are older than the newest `keep` published versions: identifiers and sizes.
pub fn excess_drafts(reader: &mut Reader<'_>, node: Id, keep: u32) -> Result<Vec<(Id, i64)>> {
    let oldest: Option<i64> = reader.find(NTH_MAJOR, &params![node, keep.saturating_sub(1)], |row| row.get(0))?;
    match oldest {
        Some(major) => reader.query(OLD_DRAFTS, &params![node, major], |row| Ok((row.get(0)?, row.get(1)?))),
        None => Ok(Vec::new()),
    }
}
