//! Search for items by parts of their names, over a whole content database, newest documents first.
//!
//! If few documents match, the search has to walk through all of them. It walks along an index that contains time and
//! name, so that only matching rows are read. It proceeds in stretches, so that the caller can stop in time.

use model::{Id, Result, Timestamp};

use super::node::{NodeRow, node_columns, read};
use crate::{Reader, params, statements};

/// Number of name parts that one statement can compare.
pub const MAX_WORDS: usize = 6;

statements! {
    DOCUMENTS = concat!("SELECT ", node_columns!("node"), " FROM node WHERE kind = 'document'
        AND (modified_at < $1 OR (modified_at = $1 AND id < $2)) AND modified_at <= $1
        AND (modified_at > $3 OR (modified_at = $3 AND id >= $4)) AND modified_at >= $3
        AND {position folded, $5} > 0 AND {position folded, $6} > 0 AND {position folded, $7} > 0
        AND {position folded, $8} > 0 AND {position folded, $9} > 0 AND {position folded, $10} > 0
        AND ($11 OR scope_id {in $12})
        ORDER BY modified_at DESC, id DESC LIMIT $13");
    STRETCH = "SELECT modified_at, id FROM node WHERE kind = 'document'
        AND (modified_at < $1 OR (modified_at = $1 AND id < $2)) AND modified_at <= $1
        ORDER BY modified_at DESC, id DESC LIMIT 1 OFFSET $3";
    PLACES = concat!("SELECT ", node_columns!("node"), " FROM node
        WHERE kind NOT IN ('document', 'row') AND parent_id > 0
        AND {position folded, $1} > 0 AND {position folded, $2} > 0 AND {position folded, $3} > 0
        AND {position folded, $4} > 0 AND {position folded, $5} > 0 AND {position folded, $6} > 0
        AND ($7 OR scope_id {in $8})
        ORDER BY CASE kind WHEN 'site' THEN 0 WHEN 'library' THEN 1 ELSE 2 END, folded, id LIMIT $9");
    NAMED_PLACES = concat!("SELECT ", node_columns!("node"), " FROM node
        WHERE kind NOT IN ('document', 'row') AND parent_id > 0
        AND folded = $1 AND ($2 OR scope_id {in $3}) ORDER BY id LIMIT $4");
    DRAFTS = concat!("SELECT ", node_columns!("node"),
        " FROM node WHERE kind = 'document' AND minor > 0 AND modified_by = $1
        ORDER BY modified_at DESC, id DESC LIMIT $2");
    GRANTED = "SELECT DISTINCT g.scope_id, g.role_id, s.collection_id, g.expires_at
        FROM scope_grant g JOIN scope s ON s.id = g.scope_id WHERE g.principal_id {in $1}
        AND (g.expires_at IS NULL OR g.expires_at > $2)";
}

/// Position in the walk through the documents: time of change and identifier, newest first.
pub type Position = (Timestamp, Id);

/// Position before the newest document.
pub const NEWEST: Position = (Timestamp::from_micros(i64::MAX), Id::new(i64::MAX));
/// Position after the oldest document.
pub const OLDEST: Position = (Timestamp::from_micros(i64::MIN), Id::NONE);

/// Search terms, and the scopes to search.
#[derive(Clone, Debug)]
pub struct SearchTerms<'a> {
    /// Folded parts that a folded name must all contain, at most [`MAX_WORDS`].
    pub words: &'a [String],
    /// Only items of these scopes; `None` for all.
    pub scopes: Option<&'a [Id]>,
}

impl SearchTerms<'_> {
    /// Returns the search term at `index`, or the empty text, which every name contains.
    fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    fn scopes(&self) -> &[Id] {
        self.scopes.unwrap_or_default()
    }
}

/// Matching documents after the position `after`, up to and including `until`, newest first; at most `limit`.
pub fn documents(
    reader: &mut Reader<'_>,
    wanted: &SearchTerms<'_>,
    after: Position,
    until: Position,
    limit: usize,
) -> Result<Vec<NodeRow>> {
    let values = params![
        after.0,
        after.1,
        until.0,
        until.1,
        wanted.word(0),
        wanted.word(1),
        wanted.word(2),
        wanted.word(3),
        wanted.word(4),
        wanted.word(5),
        wanted.scopes.is_none(),
        wanted.scopes(),
        limit as i64
    ];
    reader.query(DOCUMENTS, &values, read)
}

/// Returns the position `count` documents after `after`; `None` if there are fewer.
pub fn position_after(reader: &mut Reader<'_>, after: Position, count: usize) -> Result<Option<Position>> {
    let offset = count.saturating_sub(1) as i64;
    reader.find(STRETCH, &params![after.0, after.1, offset], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Matching sites (except root sites), libraries and folders, in this order, each sorted by name; at most `limit`.
pub fn find_containers(reader: &mut Reader<'_>, wanted: &SearchTerms<'_>, limit: usize) -> Result<Vec<NodeRow>> {
    let values = params![
        wanted.word(0),
        wanted.word(1),
        wanted.word(2),
        wanted.word(3),
        wanted.word(4),
        wanted.word(5),
        wanted.scopes.is_none(),
        wanted.scopes(),
        limit as i64
    ];
    reader.query(PLACES, &values, read)
}

/// Sites (except root sites), libraries and folders with this folded name, in the given scopes or in all; at most
/// `limit`.
pub fn containers_named(
    reader: &mut Reader<'_>,
    folded: &str,
    scopes: Option<&[Id]>,
    limit: usize,
) -> Result<Vec<NodeRow>> {
    let values = params![folded, scopes.is_none(), scopes.unwrap_or_default(), limit as i64];
    reader.query(NAMED_PLACES, &values, read)
}

/// Documents whose latest version is a draft last changed by `author`, newest first; at most `limit`.
pub fn drafts(reader: &mut Reader<'_>, author: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(DRAFTS, &params![author, limit as i64], read)
}

/// A role that is granted on a scope.
#[derive(Clone, Copy, Debug)]
pub struct Granted {
    /// The scope.
    pub scope_id: Id,
    /// The role.
    pub role_id: Id,
    /// The site collection of the scope.
    pub collection_id: Id,
    /// End of the grant; `None` for one without end.
    pub expires_at: Option<Timestamp>,
}

/// All grants to any of the principals that have not ended at the time `now`.
pub fn granted(reader: &mut Reader<'_>, principals: &[Id], now: Timestamp) -> Result<Vec<Granted>> {
    reader.query(GRANTED, &params![principals, now], |row| {
        let (scope_id, role_id, collection_id) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Granted { scope_id, role_id, collection_id, expires_at: row.get(3)? })
    })
}
