//! Attachments: the documents in a row of a list. A row takes them if its list does, up to a limit.

use std::collections::HashMap;

use database::content::node::{self, NodeRow};
use database::content::{attachment, library};
use database::{Reader, Transaction};
use model::{Code, Error, Id, LibrarySettings, NodeKind, Result, Right};

use crate::Session;
use crate::items::item::Item;
use crate::session::access::Access;
use crate::session::guard::Guard;
use crate::session::locate::Located;

/// Limit on the attachments of one row.
pub const MAX_ATTACHMENTS: usize = 1_000;

/// Way in which a document gets into a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is attached.
    New,
    /// It was there before, and comes back.
    Back,
}

impl Session {
    /// Refuses another attachment, before a byte of it is read, for a row that takes none. Other items pass.
    ///
    /// # Errors
    /// `Conflict` with code `attachments_off` or `too_many_attachments`.
    pub(crate) async fn require_attachable(&self, place: &Located) -> Result<()> {
        let row = place.node().clone();
        if row.kind != NodeKind::Row {
            return Ok(());
        }
        let check = move |reader: &mut Reader<'_>| {
            require_setting(library::find(reader, row.library_id)?.as_ref())?;
            require_room(reader, row.id)
        };
        place.content.database.read(check).await
    }
}

/// Locks the row that a document gets into, so that it is not deleted meanwhile, and refuses one that takes no more.
/// Does nothing for other containers.
///
/// # Errors
/// `NotFound` if the row was deleted; `Conflict` with code `attachments_off` or `too_many_attachments`.
pub(crate) fn admit(transaction: &mut Transaction<'_>, guard: &Guard, place: &NodeRow, arrival: Arrival) -> Result<()> {
    if place.kind != NodeKind::Row {
        return Ok(());
    }
    let row = guard.lock_row(transaction, place.id)?;
    if arrival == Arrival::New {
        require_setting(library::find(transaction, row.library_id)?.as_ref())?;
    }
    require_room(transaction, row.id)
}

/// Returns whether an item is in a row. The columns of its list are not for it.
pub(crate) fn is_attachment(reader: &mut Reader<'_>, item: &NodeRow) -> Result<bool> {
    let may_be = item.kind == NodeKind::Document;
    Ok(may_be && node::find(reader, item.parent_id)?.is_some_and(|parent| parent.kind == NodeKind::Row))
}

/// Refuses a list that takes no attachments.
///
/// # Errors
/// `Conflict` with code `attachments_off`.
pub(crate) fn require_attachments(reader: &mut Reader<'_>, list: Id) -> Result<()> {
    require_setting(library::find(reader, list)?.as_ref())
}

fn require_setting(settings: Option<&LibrarySettings>) -> Result<()> {
    match settings.is_some_and(|settings| settings.attachments) {
        true => Ok(()),
        false => Err(Error::conflict(
            "this list takes no attachments: somebody who manages it can allow them in its settings",
        )
        .with_code(Code::AttachmentsOff)),
    }
}

fn require_room(reader: &mut Reader<'_>, row: Id) -> Result<()> {
    match attachment::count(reader, row, MAX_ATTACHMENTS)? < MAX_ATTACHMENTS {
        true => Ok(()),
        false => Err(Error::conflict(format!(
            "a row has at most {MAX_ATTACHMENTS} attachments: put more documents into a library"
        ))
        .with_code(Code::TooManyAttachments)),
    }
}

/// Sets, for each row among these items that the caller may open, the number of attachments that the caller may see.
/// One statement reads those of all.
pub(crate) fn set_attachments(reader: &mut Reader<'_>, access: &Access, items: &mut [Item]) -> Result<()> {
    let is_open = |item: &Item| item.kind == NodeKind::Row && item.rights.has(Right::View);
    let rows: Vec<Id> = items.iter().filter(|item| is_open(item)).map(|item| item.id).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut counts: HashMap<Id, i64> = HashMap::new();
    for counted in attachment::counts(reader, &rows)? {
        let rights = access.rights(counted.scope);
        // As with a single document: drafts show to those who may change them.
        let seen = match rights.has(Right::Publish) || rights.has(Right::Edit) {
            true => counted.all,
            false => counted.published,
        };
        *counts.entry(counted.row).or_default() += if rights.has(Right::View) { seen } else { 0 };
    }
    for item in items.iter_mut().filter(|item| is_open(item)) {
        item.attachments = Some(model::unsigned(counts.get(&item.id).copied().unwrap_or(0)));
    }
    Ok(())
}
