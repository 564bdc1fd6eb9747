//! Share links, with which anyone can download documents or send files, and the rule of a site collection that allows
//! them.

use model::{Digest, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    RULE = "SELECT most_days FROM link_rule WHERE collection_id = $1";
    PUT_RULE = "INSERT INTO link_rule (collection_id, most_days) VALUES ($1, $2)
        ON CONFLICT (collection_id) DO UPDATE SET most_days = excluded.most_days";
    DELETE_RULE = "DELETE FROM link_rule WHERE collection_id = $1";
    INSERT = "INSERT INTO share_link (id, node_id, digest, password, created_at, created_by, expires_at, most_downloads,
        downloads, takes_uploads, message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10)";
    FIND = "SELECT id, node_id, digest, password, created_at, created_by, expires_at, most_downloads, downloads,
        takes_uploads, message FROM share_link WHERE id = $1";
    OF_NODE = "SELECT id, node_id, digest, password, created_at, created_by, expires_at, most_downloads, downloads,
        takes_uploads, message FROM share_link WHERE node_id = $1 ORDER BY id DESC LIMIT $2";
    MADE_BY = "SELECT node_id, created_at FROM share_link WHERE created_by = $1 AND expires_at > $2
        ORDER BY id DESC LIMIT $3";
    USE = "UPDATE share_link SET downloads = downloads + 1
        WHERE id = $1 AND (most_downloads IS NULL OR downloads < most_downloads) AND expires_at > $2";
    DELETE = "DELETE FROM share_link WHERE id = $1";
}

/// A stored share link.
#[derive(Clone, Debug)]
pub struct ShareLinkRow {
    /// Identifier.
    pub id: Id,
    /// The document, folder or library.
    pub node_id: Id,
    /// Hash of the secret in the link.
    pub digest: Digest,
    /// Hash of the password; empty if there is none.
    pub password: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// End of its life.
    pub expires_at: Timestamp,
    /// Maximum number of downloads; `None` for no limit.
    pub most_downloads: Option<i64>,
    /// Number of downloads so far, or of files that were sent.
    pub downloads: i64,
    /// True if the link takes files, false if it gives them.
    pub takes_uploads: bool,
    /// Message of the creator to the recipients; may be empty.
    pub message: String,
}

fn read(row: &Row<'_>) -> Result<ShareLinkRow> {
    Ok(ShareLinkRow {
        id: row.get(0)?,
        node_id: row.get(1)?,
        digest: row.get(2)?,
        password: row.get(3)?,
        created_at: row.get(4)?,
        created_by: row.get(5)?,
        expires_at: row.get(6)?,
        most_downloads: row.get(7)?,
        downloads: row.get(8)?,
        takes_uploads: row.get(9)?,
        message: row.get(10)?,
    })
}

/// Maximum lifetime in days of share links in a site collection; `None` if it allows no links.
pub fn rule(reader: &mut Reader<'_>, collection: Id) -> Result<Option<i64>> {
    reader.find(RULE, &params![collection], |row| row.get(0))
}

/// Sets the maximum lifetime in days of share links in a site collection; `None` allows no links.
pub fn set_rule(transaction: &mut Transaction<'_>, collection: Id, days: Option<i64>) -> Result<()> {
    match days {
        Some(days) => transaction.execute(PUT_RULE, &params![collection, days]).map(drop),
        None => transaction.execute(DELETE_RULE, &params![collection]).map(drop),
    }
}

/// Adds a link.
pub fn insert(transaction: &mut Transaction<'_>, link: &ShareLinkRow) -> Result<()> {
    let values = params![
        link.id,
        link.node_id,
        link.digest,
        &link.password,
        link.created_at,
        link.created_by,
        link.expires_at,
        link.most_downloads,
        link.takes_uploads,
        &link.message
    ];
    transaction.execute(INSERT, &values).map(drop)
}

/// The link with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<ShareLinkRow>> {
    reader.find(FIND, &params![id], read)
}

/// The share links of a document, folder or library, newest first.
pub fn of_node(reader: &mut Reader<'_>, node: Id, limit: usize) -> Result<Vec<ShareLinkRow>> {
    reader.query(OF_NODE, &params![node, limit as i64], read)
}

/// Items with links that a user made and that have not expired, each with the time of its creation, newest first.
pub fn made_by(reader: &mut Reader<'_>, user: Id, now: Timestamp, most: usize) -> Result<Vec<(Id, Timestamp)>> {
    reader.query(MADE_BY, &params![user, now, most as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Counts a download. Returns false if the link has expired or its downloads are used up.
pub fn count_use(transaction: &mut Transaction<'_>, id: Id, now: Timestamp) -> Result<bool> {
    Ok(transaction.execute(USE, &params![id, now])? == 1)
}

/// Removes a link.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}
