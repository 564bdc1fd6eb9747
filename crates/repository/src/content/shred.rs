//! Removing for good what was deleted, however much that is: a first transaction takes it out of its bin, so that
//! nothing leads to it any more, and the rows go piece by piece. What is cut off anywhere goes on with the next
//! clean-up.

use database::Transaction;
use database::content::node::NodeRow;
use database::content::{collection, node, tree};
use model::{Id, NodeKind, Result};

use crate::Session;
use crate::farm::registry::ContentDatabase;

/// The parent of what is being removed: no item has this identifier.
const NOWHERE: Id = Id::new(-1);
/// Rows that one transaction removes at most: others wait for it.
const PIECE: usize = 500;
/// Tops that one look finds.
const TOPS: usize = 100;

/// Takes an item out of reach, with all that it holds.
pub(crate) fn condemn(transaction: &mut Transaction<'_>, item: &NodeRow) -> Result<()> {
    node::place(transaction, item.id, NOWHERE, &item.name, &item.id.to_string())
}

/// Removes what is out of reach in a content database, also what another process left when it was interrupted.
pub(crate) async fn shred_all(session: &Session, content: &ContentDatabase) -> Result<()> {
    loop {
        let tops = content.database.read(|reader| tree::children(reader, NOWHERE, TOPS)).await?;
        if tops.is_empty() {
            return Ok(());
        }
        for top in tops {
            shred(session, content, top).await?;
        }
    }
}

/// Removes one item that is out of reach.
pub(crate) async fn shred(session: &Session, content: &ContentDatabase, top: Id) -> Result<()> {
    loop {
        let shard = session.repository().next_id();
        if content.database.write_vital(move |transaction| piece(transaction, top, shard)).await? {
            return Ok(());
        }
    }
}

/// Removes some of an item, from the bottom up, and says whether nothing is left of it. Several processes may do it at
/// once.
fn piece(transaction: &mut Transaction<'_>, top: Id, shard: Id) -> Result<bool> {
    let Some(root) = node::lock(transaction, top)?.filter(|row| row.parent_id == NOWHERE) else { return Ok(true) };
    let (mut room, mut bytes, mut documents) = (PIECE, 0, 0);
    let mut is_done = false;
    while room > 0 && !is_done {
        let mut place = top;
        while let Some(below) = tree::first_container(transaction, place)? {
            place = below;
        }
        // Where no container is, documents are, or nothing any more.
        let mut leaves = tree::children(transaction, place, room)?;
        let are_documents = !leaves.is_empty() || root.kind == NodeKind::Document;
        if leaves.is_empty() {
            leaves.push(place);
        }
        let versions = tree::versions(transaction, &leaves, room)?;
        tree::delete_versions(transaction, &versions.iter().map(|(id, _)| *id).collect::<Vec<_>>())?;
        bytes += versions.iter().map(|(_, size)| size).sum::<i64>();
        room -= versions.len();
        // What has more versions than there was room for goes with the last of them.
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
