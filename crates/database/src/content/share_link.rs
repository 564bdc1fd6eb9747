//! Links by which anybody can download a document, and where they are allowed.

use model::{Digest, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    RULE = "SELECT most_days FROM link_rule WHERE collection_id = $1";
    PUT_RULE = "INSERT INTO link_rule (collection_id, most_days) VALUES ($1, $2)
        ON CONFLICT (collection_id) DO UPDATE SET most_days = excluded.most_days";
    DELETE_RULE = "DELETE FROM link_rule WHERE collection_id = $1";
    INSERT = "INSERT INTO share_link (id, node_id, digest, password, created_at, created_by, expires_at, most_downloads,
        downloads) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)";
    FIND = "SELECT id, node_id, digest, password, created_at, created_by, expires_at, most_downloads, downloads
        FROM share_link WHERE id = $1";
    OF_NODE = "SELECT id, node_id, digest, password, created_at, created_by, expires_at, most_downloads, downloads
        FROM share_link WHERE node_id = $1 ORDER BY id DESC LIMIT $2";
    USE = "UPDATE share_link SET downloads = downloads + 1
        WHERE id = $1 AND (most_downloads IS NULL OR downloads < most_downloads) AND expires_at > $2";
    DELETE = "DELETE FROM share_link WHERE id = $1";
}

/// A link as it is stored.
#[derive(Clone, Debug)]
pub struct ShareLinkRow {
    /// Identifier.
    pub id: Id,
    /// The document.
    pub node_id: Id,
    /// Hash of the secret that the link holds.
    pub digest: Digest,
    /// Hash of the password; empty for none.
    pub password: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Id,
    /// When it ends.
    pub expires_at: Timestamp,
    /// How often it can be used.
    pub most_downloads: Option<i64>,
    /// How often it was used.
    pub downloads: i64,
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
    })
}

/// For how many days links may live in a site collection; none when it allows no links.
pub fn rule(reader: &mut Reader<'_>, collection: Id) -> Result<Option<i64>> {
    reader.find(RULE, &params![collection], |row| row.get(0))
}

/// Sets for how many days links may live in a site collection; none allows no links.
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
        link.most_downloads
    ];
    transaction.execute(INSERT, &values).map(drop)
}

/// The link with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<ShareLinkRow>> {
    reader.find(FIND, &params![id], read)
}

/// The links of a document, the newest first.
pub fn of_node(reader: &mut Reader<'_>, node: Id, limit: usize) -> Result<Vec<ShareLinkRow>> {
    reader.query(OF_NODE, &params![node, limit as i64], read)
}

/// Counts one use of a link; false when it has ended.
pub fn count_use(transaction: &mut Transaction<'_>, id: Id, now: Timestamp) -> Result<bool> {
    Ok(transaction.execute(USE, &params![id, now])? == 1)
}

/// Removes a link.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}
