//! Statements over the networks from which password-protected links were opened.
//!
//! This module knows only hashes, not what they are hashes of.

use model::{Id, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND_NETWORK = "SELECT opened_at FROM link_network WHERE link_id = $1 AND hash = $2";
    KEEP_NETWORK = "INSERT INTO link_network (link_id, hash, opened_at) VALUES ($1, $2, $3) \
        ON CONFLICT (link_id, hash) DO UPDATE SET opened_at = excluded.opened_at";
    DELETE_SURPLUS_OF_LINK = "DELETE FROM link_network WHERE link_id = $1 AND opened_at < (SELECT MIN(opened_at) FROM \
        (SELECT opened_at FROM link_network WHERE link_id = $1 ORDER BY opened_at DESC LIMIT $2) newest)";
    DELETE_NETWORKS = "DELETE FROM link_network WHERE link_id = $1";
    DELETE_OLD_NETWORKS = "DELETE FROM link_network WHERE opened_at < $1";
    DELETE_SURPLUS_NETWORKS = "DELETE FROM link_network WHERE opened_at < \
        (SELECT opened_at FROM link_network ORDER BY opened_at DESC LIMIT 1 OFFSET $1)";
}

/// Time when a link was last opened from the network with this hash; `None` if it never was, or so long ago that the
/// record was purged.
pub fn opened_at(reader: &mut Reader, link: Id, hash: &[u8]) -> Result<Option<Timestamp>> {
    reader.find(FIND_NETWORK, &params![link, hash], |row| row.get(0))
}

/// Records the network with this hash as known to a link. The link keeps the `most` from which it was opened last.
pub fn keep(tx: &mut Transaction, link: Id, hash: &[u8], now: Timestamp, most: usize) -> Result<()> {
    tx.execute(KEEP_NETWORK, &params![link, hash, now])?;
    tx.execute(DELETE_SURPLUS_OF_LINK, &params![link, most as i64])?;
    Ok(())
}

/// Deletes all known networks of a link.
pub fn remove_all(tx: &mut Transaction, link: Id) -> Result<u64> {
    tx.execute(DELETE_NETWORKS, &params![link])
}

/// Deletes networks from which no link was opened since `before`, and the oldest beyond `keep`.
pub fn purge(tx: &mut Transaction, before: Timestamp, keep: usize) -> Result<u64> {
    let old = tx.execute(DELETE_OLD_NETWORKS, &params![before])?;
    Ok(old + tx.execute(DELETE_SURPLUS_NETWORKS, &params![keep as i64])?)
}
