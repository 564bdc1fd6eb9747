//! Permanent deletion of items of any size. A first transaction detaches the item from its bin, so that nothing refers
//! to it any more. Its rows are then deleted in small transactions. The next clean-up continues a deletion that was
//! interrupted.

use database::Transaction;
use database::content::node::NodeRow;
use database::content::{attachment, collection, node, placing, tree};
use model::{Id, NodeKind, Result};

use crate::Session;
use crate::farm::registry::ContentDatabase;

/// Parent of the items that are being deleted. No item has this identifier.
const DETACHED_PARENT: Id = Id::new(-1);
/// Limit on the rows that one transaction deletes, because other writers wait for it.
const MAX_ROWS_PER_TRANSACTION: usize = 500;
/// Limit on the detached items that one query returns.
const DETACHED_PAGE: usize = 100;

/// Detaches an item with all of its content.
pub(crate) fn detach(transaction: &mut Transaction<'_>, item: &NodeRow) -> Result<()> {
    placing::place(transaction, item.id, DETACHED_PARENT, &item.name, &item.id.to_string())
}

/// Deletes all detached items of a content database, including those of other processes that were interrupted.
pub(crate) async fn delete_all_detached(session: &Session, content: &ContentDatabase) -> Result<()> {
    loop {
        let tops = content.database.read(|reader| tree::children(reader, DETACHED_PARENT, DETACHED_PAGE)).await?;
        if tops.is_empty() {
            return Ok(());
        }
        for top in tops {
            delete_detached(session, content, top).await?;
        }
    }
}

/// Deletes one detached item.
pub(crate) async fn delete_detached(session: &Session, content: &ContentDatabase, top: Id) -> Result<()> {
    loop {
        let shard = session.repository().next_id();
        if content.database.write_vital(move |transaction| delete_batch(transaction, top, shard)).await? {
            return Ok(());
        }
    }
}

/// Deletes a part of an item, bottom up, and returns whether the item is now gone entirely. Several processes may do so
/// concurrently.
fn delete_batch(transaction: &mut Transaction<'_>, top: Id, shard: Id) -> Result<bool> {
    let Some(root) = node::lock(transaction, top)?.filter(|row| row.parent_id == DETACHED_PARENT) else {
        return Ok(true);
    };
    let (mut room, mut bytes, mut documents) = (MAX_ROWS_PER_TRANSACTION, 0, 0);
    let mut is_done = false;
    while room > 0 && !is_done {
        let mut place = top;
        while let Some(below) = tree::first_container(transaction, place)? {
            place = below;
        }
        // The innermost container holds only documents, only rows, or nothing.
        let mut leaves = tree::children(transaction, place, room)?;
        let kind = node::find(transaction, place)?.map_or(root.kind, |place| place.kind);
        let mut are_documents = match leaves.is_empty() {
            true => root.kind == NodeKind::Document,
            false => kind.takes_documents(),
        };
        if kind == NodeKind::List && !leaves.is_empty() {
            let attachments = attachment::of_rows(transaction, &leaves, room)?;
            if !attachments.is_empty() {
                (leaves, are_documents) = (attachments, true);
            }
        }
        if leaves.is_empty() {
            leaves.push(place);
        }
        let versions = tree::versions(transaction, &leaves, room)?;
        tree::delete_versions(transaction, &versions.iter().map(|(id, _)| *id).collect::<Vec<_>>())?;
        bytes += versions.iter().map(|(_, size)| size).sum::<i64>();
        room -= versions.len();
        // An item with more versions than fit into this transaction is deleted together with the last of them.
        if room > 0 {
            tree::delete_items(transaction, &leaves)?;
            documents += if are_documents { leaves.len() as i64 } else { 0 };
            room = room.saturating_sub(leaves.len());
            is_done = leaves == [top];
        }
    }
    if bytes != 0 || documents != 0 {
        collection::add_usage(transaction, root.collection_id, shard, -bytes, -documents)?;
    }
    Ok(is_done)
}
