//! Check-out, check-in and discard: an exclusive edit whose result stays hidden from other users until check-in.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::{column, node, record, tree, version};
use model::{Code, Error, NodeKind, Result, Right, Timestamp, VersionNumber};

use crate::content::event_detail::Detail;
use crate::items::attachments::is_attachment;
use crate::session::errors::{held_by, require_free};
use crate::session::guard::{Checked, Guard};
use crate::session::known::Permitted;
use crate::session::locate::Located;
use crate::{Session, Target};

use super::rules::{charge, forget_submission, library_of, next_number, require_comment, trim};
use super::succession::discard_working;

/// Options of a check-in.
#[derive(Clone, Debug, Default)]
pub struct CheckIn {
    /// The author's comment on the new version.
    pub comment: String,
    /// In a library with drafts: publishes at once instead of leaving a draft.
    pub publish: bool,
    /// Keeps the document checked out for further editing.
    pub keep: bool,
}

impl Session {
    /// Finds a document that the caller may change. Refuses with the holder's name when another user has it checked
    /// out.
    pub(crate) async fn document_to_change(&self, target: &Target, right: Right) -> Result<Permitted> {
        let located = self.locate(target).await?.to(right)?;
        located.require_kind(NodeKind::Document)?;
        self.require_not_held(&located).await?;
        Ok(located)
    }

    /// Refuses with the holder's name when another user has the document checked out, and refuses when a lock is in the
    /// way.
    pub(crate) async fn require_not_held(&self, located: &Located) -> Result<()> {
        if let Some(holder) = located.node().holder_id.filter(|holder| *holder != self.principal.id) {
            let name = self.name_of(holder).await?;
            require_free(located.node(), self.principal.id, name.as_deref())?;
        }
        self.require_unlocked(located).await
    }

    /// Adds the holder's name to an error that refuses a change because a document in the item is checked out.
    pub(crate) async fn name_holder<T>(&self, located: &Located, outcome: Result<T>) -> Result<T> {
        let Err(error) = outcome else { return outcome };
        if error.code() != Code::CheckedOut {
            return Err(error);
        }
        let (id, me, seen) = (located.node().id, self.principal.id, located.clone());
        let look = move |reader: &mut database::Reader<'_>| {
            let Some((document, holder)) = tree::held_by_another(reader, id, me)? else { return Ok(None) };
            let document = node::find(reader, document)?.filter(|document| seen.may_know(document));
            Ok(document.map(|document| (document.name, holder)))
        };
        let Some((document, holder)) = located.content.database.read(look).await? else { return Err(error) };
        let Some(holder) = self.name_of(holder).await? else { return Err(error) };
        Err(held_by(&document, &holder))
    }

    /// Checks a document out to the caller. Repeating it changes nothing.
    #[boxed]
    pub async fn check_out(&self, target: &Target) -> Result<()> {
        let located = self.document_to_change(target, Right::Edit).await?;
        let guard = self.guard([&located])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            if row.holder_id.is_some() {
                return Ok(());
            }
            node::check_out(transaction, id, guard.caller(), Timestamp::now())?;
            guard.record(transaction, id, "document.check-out", path.as_str())
        };
        guard.write(write).await
    }

    /// Checks a document in: the working copy becomes the next version. Without a working copy, only ends the
    /// check-out.
    #[boxed]
    pub async fn check_in(&self, target: &Target, how: CheckIn) -> Result<VersionNumber> {
        require_comment(&how.comment)?;
        let located = self.document_to_change(target, Right::Edit).await?;
        let guard = self.guard([&located])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let mut row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            if row.holder_id.is_none() {
                return Err(not_checked_out(&row.name));
            }
            require_columns(transaction, &row)?;
            let settings = library_of(transaction, &row)?;
            let now = Timestamp::now();
            if let Some(working) = row.working_id {
                let stored = version::find(transaction, working)?
                    .ok_or_else(|| Error::corrupt(format!("the working copy of \"{}\" is missing", row.name)))?;
                let number = if how.publish { row.number.next_major() } else { next_number(&settings, row.number) };
                checked.require_publish(&settings, &row, number)?;
                version::promote(transaction, working, number, &how.comment, now)?;
                let previous = row.version_id;
                row.size = stored.size;
                row.media_type = stored.media_type;
                row.version_id = Some(working);
                row.number = number;
                if number.is_major() {
                    row.published_id = Some(working);
                }
                row.modified_at = stored.modified_at;
                row.modified_by = guard.caller();
                node::update_content(transaction, &row)?;
                forget_submission(transaction, id, &settings)?;
                let mut freed = trim(transaction, &row, &settings)?;
                if let Some(previous) = previous.filter(|_| settings.versioning == model::Versioning::None) {
                    freed += version::find(transaction, previous)?.map_or(0, |version| version.size);
                    version::delete(transaction, previous)?;
                }
                charge(transaction, guard, None, checked.collection.id, -freed, 0)?;
            }
            node::release(transaction, id)?;
            if how.keep {
                node::check_out(transaction, id, guard.caller(), now)?;
            }
            guard.record(transaction, id, "document.check-in", Detail::from(path.as_str()).fact(row.number))?;
            Ok(row.number)
        };
        guard.write(write).await
    }

    /// Ends a check-out and discards the working copy. Ending another user's check-out needs the right to override.
    #[boxed]
    pub async fn discard_check_out(&self, target: &Target) -> Result<()> {
        let known = self.locate(target).await?;
        known.unchecked().require_kind(NodeKind::Document)?;
        let own = known.unchecked().node().holder_id == Some(self.principal.id);
        if !own && !known.rights().has(Right::Override) {
            self.require_not_held(&*known.clone().viewed()?).await?;
        }
        let located = known.to(if own { Right::Edit } else { Right::Override })?;
        let guard = self.guard([&located])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            if row.holder_id.is_none() {
                return Err(not_checked_out(&row.name));
            }
            // The content that other users see does not change, so locks are not checked.
            if own {
                require_free(&row, guard.caller(), None)?;
            }
            let freed = discard_working(transaction, &row)?;
            node::release(transaction, id)?;
            charge(transaction, guard, None, checked.collection.id, -freed, 0)?;
            guard.record(transaction, id, "document.discard", path.as_str())
        };
        guard.allow_reserved_space().write(write).await
    }
}

fn not_checked_out(name: &str) -> Error {
    Error::conflict(format!("\"{name}\" is not checked out")).with_code(Code::NotCheckedOut)
}

/// Refuses a check-in while a required column is empty.
fn require_columns(transaction: &mut database::Transaction<'_>, row: &node::NodeRow) -> Result<()> {
    let columns = column::list(transaction, row.library_id)?;
    let mut required = columns
        .iter()
        .filter(|column| column.required)
        .filter(|column| column.content_type_id.is_none() || column.content_type_id == row.content_type_id)
        .peekable();
    if required.peek().is_none() || is_attachment(transaction, row)? {
        return Ok(());
    }
    let values = record::values(transaction, row.id)?;
    match required.find(|column| !values.iter().any(|(id, _)| *id == column.id)) {
        None => Ok(()),
        Some(column) => Err(Error::conflict(format!("fill in the column \"{}\" before checking in", column.name))
            .with_code(Code::ColumnRequired)),
    }
}
