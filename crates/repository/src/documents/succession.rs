//! Placement of a new version: as the holder's working copy, under the next number, or in place of the previous
//! version.

use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use model::{Id, LibrarySettings, Result, VersionNumber, Versioning, is_application_file};

use crate::content::event_detail::{Detail, WORKING_COPY};
use crate::session::errors::checkout_required;
use crate::session::guard::{Checked, Guard};

use super::rules::{forget_submission, next_number, trim};

/// The way in which new content of a document follows the current content.
pub(crate) struct Succession<'a> {
    /// Settings of the library.
    pub(crate) settings: &'a LibrarySettings,
    /// Allows the change without a check-out even where the library demands one.
    pub(crate) skips_checkout: bool,
    /// In a library with drafts: publishes the new version at once.
    pub(crate) publish: bool,
    /// Lets the new version replace an empty version by the same user, and the only version of a file that a program
    /// keeps for itself (`is_application_file`).
    pub(crate) one_save: bool,
    /// Lets the new version replace the current version unconditionally.
    pub(crate) replaces_current: bool,
}

/// Creates the next version of a locked row. `make` stores it, given the version number and whether it is a working
/// copy. Returns the version, and the number of bytes freed by versions that were removed.
pub(crate) fn succeed(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    checked: &Checked,
    how: &Succession<'_>,
    row: &mut NodeRow,
    make: impl FnOnce(&mut Transaction<'_>, &mut NodeRow, VersionNumber, bool) -> Result<VersionRow>,
) -> Result<(VersionRow, i64)> {
    let held = row.holder_id == Some(guard.caller());
    let begins = how.one_save && !how.publish && is_empty_own_version(transaction, guard, row)?;
    let demanded = how.settings.require_checkout && !how.skips_checkout && !held;
    if demanded && (!begins || !has_single_version(transaction, row)?) {
        return Err(checkout_required(&row.name));
    }
    if held {
        let freed = discard_working(transaction, row)?;
        let stored = make(transaction, row, row.number, true)?;
        node::set_working(transaction, row.id, Some(stored.id))?;
        return Ok((stored, freed));
    }
    let previous = row.version_id;
    let replaces = match previous {
        Some(_) if how.replaces_current => true,
        Some(_) if how.one_save && !how.publish => {
            begins || (is_application_file(&row.name) && has_single_version(transaction, row)?)
        }
        _ => false,
    };
    let number = if how.publish {
        row.number.next_major()
    } else if replaces {
        row.number
    } else {
        next_number(how.settings, row.number)
    };
    checked.require_publish(how.settings, row, number)?;
    let stored = make(transaction, row, number, false)?;
    node::update_content(transaction, row)?;
    if previous.is_some() {
        forget_submission(transaction, row.id, how.settings)?;
    }
    let mut freed = 0;
    if let Some(previous) = previous.filter(|_| replaces || how.settings.versioning == Versioning::None) {
        freed += drop_version(transaction, previous)?;
    }
    freed += trim(transaction, row, how.settings)?;
    Ok((stored, freed))
}

/// Records new content in the audit log. Content published over drafts gets a second entry.
pub(crate) fn record_replaced(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    how: &Succession<'_>,
    path: &str,
    stored: &VersionRow,
) -> Result<()> {
    let fact = if stored.working { WORKING_COPY } else { "" };
    guard.record(transaction, stored.node_id, "document.replace", Detail::from(path).fact(fact))?;
    if how.publish && !stored.working && how.settings.versioning == Versioning::MajorMinor {
        guard.record(transaction, stored.node_id, "version.publish", Detail::from(path).fact(stored.number))?;
    }
    Ok(())
}

/// Returns whether a document has a single version.
fn has_single_version(transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<bool> {
    Ok(version::list(transaction, row.id, None, 2)?.len() < 2)
}

/// Returns whether the current version is empty and the caller's own. Programs create a file first and fill it
/// afterwards.
fn is_empty_own_version(transaction: &mut Transaction<'_>, guard: &Guard, row: &NodeRow) -> Result<bool> {
    let Some(id) = row.version_id else { return Ok(false) };
    let found = version::find(transaction, id)?;
    Ok(found.is_some_and(|version| version.size == 0 && version.created_by == guard.caller()))
}

/// Removes a holder's working copy and returns the number of bytes freed.
pub(crate) fn discard_working(transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<i64> {
    match row.working_id {
        Some(id) => drop_version(transaction, id),
        None => Ok(0),
    }
}

/// Removes a version and returns the number of bytes freed.
pub(crate) fn drop_version(transaction: &mut Transaction<'_>, id: Id) -> Result<i64> {
    let size = version::find(transaction, id)?.map_or(0, |version| version.size);
    version::delete(transaction, id)?;
    Ok(size)
}
