//! Support for programs that save by moving the old file aside and a new file into its place. The document that was
//! moved aside returns to its name and takes the new file's content as its next version. Its identifier, versions,
//! permissions and followers thus stay with the name.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use database::content::{collection, displaced, lock, placing, scope, tree};
use database::{Reader, Transaction};
use model::{
    Code, Error, ErrorKind, Id, MAX_DEPTH, Name, NodeKind, NodePath, Result, Right, Timestamp, is_application_file,
    is_temporary_file, is_temporary_folder,
};

use crate::documents::library_of;
use crate::session::caller::ReadDuration;
use crate::session::errors::checkout_required;
use crate::session::guard::{Checked, Guard};
use crate::{Lock, Session};

use super::moving::{leave, put_below};
use super::transfer_plan::{OverwriteTarget, TransferPlan, Transferred};

/// Time limit within which a document that was moved aside may return as the saved one.
const ONE_SAVE: Duration = Duration::from_secs(60 * 60);

/// Number of other documents with the same bytes that are examined before a file goes to the recycle bin after all.
const MAX_HOLDERS: usize = 20;

/// Maximum number of items in a folder made for one save, the folder included.
const MAX_SAVE_ITEMS: usize = 20;

impl Session {
    /// Returns the caller's locks on the document that the caller moved aside from this path a moment ago. The locks
    /// are shown at this path until the document returns.
    ///
    /// # Errors
    /// Errors of finding the folder that contains the path.
    #[boxed]
    pub async fn locks_put_aside(&self, path: &NodePath) -> Result<Vec<Lock>> {
        let Some((parent, name)) = path.split_last() else { return Ok(Vec::new()) };
        let (folded, caller) = (name.folded(), self.principal().id);
        let (_, locks) = self
            .inspect_known(ReadDuration::Short, &parent.into(), move |reader, folder| {
                let now = Timestamp::now();
                let since = now.before(ONE_SAVE);
                match displaced::find(reader, folder.id(), &folded, caller, since)? {
                    Some((id, _)) => lock::on_items(reader, &[id], now),
                    None => Ok(Vec::new()),
                }
            })
            .await?;
        Ok(locks.into_iter().filter(|lock| lock.owner_id == caller).map(|row| Lock::of(row, caller, false)).collect())
    }
}

/// Refuses to give a user's document a name that programs use for files of their own. Under such a name it would lose
/// its versions, and deleting it would be permanent.
pub(super) fn refuse_litter(row: &NodeRow, name: &Name) -> Result<()> {
    if row.kind != NodeKind::Document || !is_application_file(name.as_str()) || is_application_file(&row.name) {
        return Ok(());
    }
    Err(Error::conflict(format!(
        "\"{name}\" is a name that programs give to working files of their own, which are neither kept nor found: \
         choose another name"
    ))
    .with_code(Code::ProgramName)
    .naming(&[name.as_str()]))
}

/// Returns whether deleting an item from a file manager loses nothing: a file that a program keeps for itself, a
/// leftover of a save whose bytes another document keeps, or a folder made for one save that holds nothing else.
pub(super) fn loses_nothing(transaction: &mut Transaction<'_>, guard: &Guard, row: &NodeRow) -> Result<bool> {
    if row.kind == NodeKind::Document {
        return is_no_document(transaction, guard, row);
    }
    if row.kind != NodeKind::Folder
        || !is_temporary_folder(&row.name)
        || tree::has_more(transaction, row.id, MAX_SAVE_ITEMS)?
    {
        return Ok(false);
    }
    for item in tree::subtree(transaction, row.id)? {
        if item.kind == NodeKind::Document && !is_no_document(transaction, guard, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_no_document(transaction: &mut Transaction<'_>, guard: &Guard, row: &NodeRow) -> Result<bool> {
    let Some(only) = only_version(transaction, row)? else { return Ok(false) };
    if is_application_file(&row.name) {
        return Ok(true);
    }
    let passing = is_temporary_file(&row.name) || in_passing_folder(transaction, row.parent_id)?;
    if !passing || !is_all_by(row, &only, guard.caller()) {
        return Ok(false);
    }
    Ok(only.size == 0 || is_kept(transaction, guard, row.id, only.blob_id)?)
}

/// Returns the version of a document that has exactly one version and no working copy.
fn only_version(reader: &mut Reader<'_>, row: &NodeRow) -> Result<Option<VersionRow>> {
    let mut versions = version::list(reader, row.id, None, 2)?;
    let only = versions.pop().filter(|_| versions.is_empty() && row.working_id.is_none());
    Ok(only)
}

/// Returns whether `person` created both the document and its content. If no versions are kept, the author of the only
/// version may have overwritten other users' content.
fn is_all_by(row: &NodeRow, only: &VersionRow, person: Id) -> bool {
    row.created_by == person && only.created_by == person
}

/// Returns whether another document that the caller may edit has the same bytes. Documents that the caller may not edit
/// and deleted documents do not count.
fn is_kept(transaction: &mut Transaction<'_>, guard: &Guard, file: Id, blob: Id) -> Result<bool> {
    for document in version::holders(transaction, blob, file, MAX_HOLDERS)? {
        match guard.item(transaction, document) {
            Ok(item) if item.rights.has(Right::Edit) => {
                // A second temporary file is no safe keeper of the bytes: both may be deleted, each on account of the
                // other.
                if !is_temporary_file(&item.name) && !in_passing_folder(transaction, item.parent_id)? {
                    return Ok(true);
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Returns whether a folder or one of its ancestors is a folder that programs make for one save.
fn in_passing_folder(reader: &mut Reader<'_>, folder: Id) -> Result<bool> {
    let mut next = folder;
    for _ in 0..MAX_DEPTH {
        let Some(row) = node::find(reader, next)?.filter(|row| row.kind == NodeKind::Folder) else { return Ok(false) };
        if is_temporary_folder(&row.name) {
            return Ok(true);
        }
        next = row.parent_id;
    }
    Ok(false)
}

impl TransferPlan {
    /// Returns whether the move takes a document out of the way for a moment, so that another can take its place.
    pub(super) fn puts_aside(&self, transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<bool> {
        if row.kind != NodeKind::Document
            || is_temporary_file(&row.name)
            || in_passing_folder(transaction, row.parent_id)?
        {
            return Ok(false);
        }
        Ok(is_temporary_file(self.name.as_str()) || in_passing_folder(transaction, self.to)?)
    }

    /// Records the location from which the document is moved aside. Its lock stays with it, because it will return
    /// shortly.
    pub(super) fn set_aside(&self, transaction: &mut Transaction<'_>, checked: &Checked, row: &NodeRow) -> Result<()> {
        // Refuse now rather than when the new file takes the document's place.
        if library_of(transaction, row)?.require_checkout && row.holder_id != Some(self.guard.caller()) {
            return Err(checkout_required(&row.name));
        }
        self.guard.require_unlocked(transaction, checked, row)?;
        let old = node::find(transaction, row.parent_id)?.ok_or_else(crate::session::errors::no_item)?;
        self.guard.require_unlocked(transaction, checked, &old)?;
        let place = (row.parent_id, row.name.as_str(), row.folded.as_str());
        displaced::put(transaction, row.id, place, self.guard.caller(), Timestamp::now())
    }

    /// Returns the document that the caller moved aside from the location to which a file of the same save is moved
    /// now.
    pub(super) fn find_set_aside(&self, transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<Option<NodeRow>> {
        if row.kind != NodeKind::Document || is_temporary_file(self.name.as_str()) {
            return Ok(None);
        }
        let since = Timestamp::now().before(ONE_SAVE);
        let found = displaced::find(transaction, self.to, &self.name.folded(), self.guard.caller(), since)?;
        let Some((id, _)) = found.filter(|(id, _)| *id != row.id) else { return Ok(None) };
        if !self.is_fresh(transaction, row)? {
            return Ok(None);
        }
        match self.guard.item(transaction, id) {
            Ok(_) => node::lock(transaction, id),
            // A document in a recycle bin, even inside a folder, is deleted and not merely moved aside.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a document can be the new content of another one: the caller made it for this save, and it has
    /// no check-out, history or permissions of its own.
    pub(super) fn is_fresh(&self, reader: &mut Reader<'_>, row: &NodeRow) -> Result<bool> {
        if is_application_file(&row.name) || row.holder_id.is_some() || scope::of_node(reader, row.id)?.is_some() {
            return Ok(false);
        }
        let since = Timestamp::now().before(ONE_SAVE);
        let only = only_version(reader, row)?;
        let fresh = |only: VersionRow| {
            is_all_by(row, &only, self.guard.caller()) && row.created_at > since && only.created_at > since
        };
        Ok(only.is_some_and(fresh))
    }

    /// Moves the document that was put aside back to its name, with the saved content as its next version. The saved
    /// file takes the location where the document stood aside, with the content that the document had before.
    pub(super) fn restore_set_aside(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
        aside: &NodeRow,
    ) -> Result<Transferred> {
        leave(transaction, &self.guard, checked, row)?;
        let saved = self.visible(transaction, row)?;
        let before = aside.version_id.map(|id| version::find(transaction, id)).transpose()?.flatten();
        let place = node::find(transaction, self.to)?.ok_or_else(crate::session::errors::no_item)?;
        let stood = node::find(transaction, aside.parent_id)?.ok_or_else(crate::session::errors::no_item)?;
        self.guard.require_unlocked(transaction, checked, &stood)?;
        let stood_path = self.guard.item(transaction, stood.id)?.path;
        let aside_name = Name::new(aside.name.clone())?;
        // Names in a folder are unique, so the file moves out of the way for a moment.
        placing::place(transaction, row.id, self.guard.next_id(), &row.name, &row.folded)?;
        put_below(transaction, checked, aside, &place, &self.name)?;
        put_below(transaction, checked, row, &stood, &aside_name)?;
        displaced::remove(transaction, aside.id)?;
        self.overwrite(transaction, checked, aside.id, &saved, OverwriteTarget::Document)?;
        if let Some(before) = before {
            let there = Self { to_path: stood_path, ..self.clone() };
            there.overwrite(transaction, checked, row.id, &before, OverwriteTarget::Leftover)?;
        }
        self.protect(transaction, row.id, aside.id)?;
        self.done(transaction, "item.move", aside.id, false)
    }

    /// Gives a file that holds content of a document the document's own permissions, if it has any, so that no other
    /// users can open that content.
    fn protect(&self, transaction: &mut Transaction<'_>, file: Id, document: Id) -> Result<()> {
        let Some(permissions) = scope::of_node(transaction, document)? else { return Ok(()) };
        let row = node::lock(transaction, file)?.ok_or_else(crate::session::errors::no_item)?;
        let own = self.guard.next_id();
        if let Some(former) = scope::of_node(transaction, file)? {
            scope::delete(transaction, former)?;
        }
        scope::insert(transaction, own, row.collection_id, file)?;
        scope::copy(transaction, permissions, own, self.guard.caller(), Timestamp::now())?;
        tree::set_scope(transaction, file, row.scope_id, own)?;
        collection::change_tree(transaction, row.collection_id)
    }
}
