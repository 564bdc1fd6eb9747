//! Statements over saved searches.
//!
//! This module does not read queries.

use model::{Error, Id, Result, SearchAlert, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    LIST_SAVED_SEARCHES = "SELECT id, name, query, sort, alert, created_at, seen_at FROM saved_search \
        WHERE owner_id = $1 ORDER BY folded LIMIT $2";
    FIND_SAVED_SEARCH = "SELECT id, name, query, sort, alert, created_at, seen_at FROM saved_search \
        WHERE owner_id = $1 AND id = $2";
    FIND_SAVED_SEARCH_BY_NAME = "SELECT id, name, query, sort, alert, created_at, seen_at FROM saved_search \
        WHERE owner_id = $1 AND folded = $2";
    FIND_SEEN = "SELECT seen_at, seen_through, seen FROM saved_search WHERE owner_id = $1 AND id = $2";
    COUNT_SAVED_SEARCHES = "SELECT COUNT(*) FROM saved_search WHERE owner_id = $1";
    INSERT_SAVED_SEARCH = "INSERT INTO saved_search (id, owner_id, name, folded, query, sort, alert, created_at, \
        seen_at, seen_through, seen) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    UPDATE_SAVED_SEARCH = "UPDATE saved_search SET name = $3, folded = $4, query = $5, sort = $6, alert = $7 \
        WHERE owner_id = $1 AND id = $2";
    SET_SEEN = "UPDATE saved_search SET seen_at = $3, seen_through = $4, seen = $5 WHERE owner_id = $1 AND id = $2";
    DELETE_SAVED_SEARCH = "DELETE FROM saved_search WHERE owner_id = $1 AND id = $2";
    DELETE_SAVED_SEARCHES = "DELETE FROM saved_search WHERE owner_id = $1";
}

/// A search that its owner saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSearchRow {
    /// Identifier.
    pub id: Id,
    /// Name, unique among the searches of its owner when folded.
    pub name: String,
    /// The query.
    pub query: String,
    /// Word for the order of the results.
    pub sort: String,
    /// When new documents are counted, if at all.
    pub alert: SearchAlert,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time at which the owner last marked results as seen.
    pub seen_at: Timestamp,
}

/// Results of a search that its owner has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRow {
    /// Time of the marking.
    pub at: Timestamp,
    /// Versions that were changed before this time count as seen.
    pub through: Timestamp,
    /// Versions of later changes that were seen.
    pub versions: Vec<Id>,
}

fn saved_search(row: &Row) -> Result<SavedSearchRow> {
    Ok(SavedSearchRow {
        id: row.get(0)?,
        name: row.get(1)?,
        query: row.get(2)?,
        sort: row.get(3)?,
        alert: row.get(4)?,
        created_at: row.get(5)?,
        seen_at: row.get(6)?,
    })
}

/// Up to `limit` searches of a user, in the order of their folded names.
pub fn list(reader: &mut Reader, owner: Id, limit: usize) -> Result<Vec<SavedSearchRow>> {
    reader.query(LIST_SAVED_SEARCHES, &params![owner, limit as i64], saved_search)
}

/// A search of a user; `None` for those of others too.
pub fn find(reader: &mut Reader, owner: Id, id: Id) -> Result<Option<SavedSearchRow>> {
    reader.find(FIND_SAVED_SEARCH, &params![owner, id], saved_search)
}

/// The search of a user with this folded name.
pub fn find_by_name(reader: &mut Reader, owner: Id, folded: &str) -> Result<Option<SavedSearchRow>> {
    reader.find(FIND_SAVED_SEARCH_BY_NAME, &params![owner, folded], saved_search)
}

/// Returns the results that the owner has seen; `None` if there is no such search.
///
/// # Errors
/// `Corrupt` if the versions cannot be read.
pub fn seen(reader: &mut Reader, owner: Id, id: Id) -> Result<Option<SeenRow>> {
    let read = |row: &Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let row: Option<(Timestamp, Timestamp, Vec<u8>)> = reader.find(FIND_SEEN, &params![owner, id], read)?;
    row.map(|(at, through, coded)| Ok(SeenRow { at, through, versions: decoded(&coded)? })).transpose()
}

/// Number of searches of a user.
pub fn count(reader: &mut Reader, owner: Id) -> Result<i64> {
    Ok(reader.find(COUNT_SAVED_SEARCHES, &params![owner], |row| row.get(0))?.unwrap_or(0))
}

/// Adds a search of a user with the results that the user has seen. [`SavedSearchRow::seen_at`] is taken from these.
pub fn insert(tx: &mut Transaction, owner: Id, search: &SavedSearchRow, folded: &str, seen: &SeenRow) -> Result<()> {
    let values = params![
        search.id,
        owner,
        &search.name,
        folded,
        &search.query,
        &search.sort,
        search.alert.as_str(),
        search.created_at,
        seen.at,
        seen.through,
        coded(&seen.versions)
    ];
    tx.execute(INSERT_SAVED_SEARCH, &values).map(drop)
}

/// Changes name, query, order and alert of a search. Returns how many were changed, 0 or 1.
pub fn update(tx: &mut Transaction, owner: Id, search: &SavedSearchRow, folded: &str) -> Result<u64> {
    let SavedSearchRow { id, name, query, sort, alert, .. } = search;
    tx.execute(UPDATE_SAVED_SEARCH, &params![owner, *id, name, folded, query, sort, alert.as_str()])
}

/// Sets what the owner has seen. Returns how many searches were changed, 0 or 1.
pub fn set_seen(tx: &mut Transaction, owner: Id, id: Id, seen: &SeenRow) -> Result<u64> {
    tx.execute(SET_SEEN, &params![owner, id, seen.at, seen.through, coded(&seen.versions)])
}

/// Removes a search of a user. Returns how many were removed, 0 or 1.
pub fn remove(tx: &mut Transaction, owner: Id, id: Id) -> Result<u64> {
    tx.execute(DELETE_SAVED_SEARCH, &params![owner, id])
}

/// Removes all searches of a user.
pub fn remove_all(tx: &mut Transaction, owner: Id) -> Result<u64> {
    tx.execute(DELETE_SAVED_SEARCHES, &params![owner])
}

fn coded(versions: &[Id]) -> Vec<u8> {
    versions.iter().flat_map(|version| version.get().to_be_bytes()).collect()
}

fn decoded(coded: &[u8]) -> Result<Vec<Id>> {
    let (versions, rest) = coded.as_chunks();
    if !rest.is_empty() {
        return Err(Error::corrupt("the versions that the owner of a saved search has seen cannot be read"));
    }
    Ok(versions.iter().map(|bytes| Id::new(i64::from_be_bytes(*bytes))).collect())
}
