//! Versions: listing, restoring, publishing, deleting.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::{library, submission, version};
use model::{Code, Error, Id, MAX_PAGE, NodeKind, Result, Right, Timestamp, VersionNumber, Versioning};

use crate::content::event_detail::Detail;
use crate::items::item::Version;
use crate::items::page::Page;
use crate::session::errors::checkout_required;
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

use super::open::require_draft;
use super::rules::{charge, draft_of, forget_submission, library_of, next_number, require_comment, trim};

impl Session {
    /// Returns versions of a document that are older than the version `before`, newest first, at most `limit`.
    #[boxed]
    pub async fn versions(&self, target: &Target, before: Option<Id>, limit: usize) -> Result<Page<Version, Id>> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, page) = self
            .view_to(Right::ViewVersions, target, move |reader, located| {
                located.require_kind(NodeKind::Document)?;
                let visible = |row: &version::VersionRow| require_draft(located, row.number).is_ok();
                // The page ends with a version that the caller sees, so that it does not reveal the positions of hidden
                // versions.
                let most = if located.sees_drafts(located.node()) { limit + 1 } else { MAX_PAGE + 1 };
                let (mut shown, mut place) = (Vec::new(), before);
                loop {
                    let rows = version::list(reader, located.node().id, place, most)?;
                    let is_last = rows.len() < most;
                    place = rows.last().map(|row| row.id);
                    shown.extend(rows.into_iter().filter(visible));
                    if is_last || shown.len() > limit {
                        break;
                    }
                }
                let next = (shown.len() > limit).then(|| shown[limit - 1].id);
                shown.truncate(limit);
                Ok(Page { items: shown.iter().map(|row| located.version(row)).collect(), next })
            })
            .await?;
        Ok(page)
    }

    /// Makes the content of an earlier version the newest version, with a comment. Keeps all versions and copies no
    /// bytes.
    #[boxed]
    pub async fn restore_version(
        &self,
        target: &Target,
        number: VersionNumber,
        comment: String,
    ) -> Result<VersionNumber> {
        require_comment(&comment)?;
        let located = self.document_to_change(target, Right::Edit).await?;
        let guard = self.guard([&located, &located.to(Right::ViewVersions)?])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let mut row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            if row.holder_id.is_some() {
                return Err(Error::conflict(
                    "check the document in, or discard the check-out, before restoring a version",
                )
                .with_code(Code::CheckedOut));
            }
            let settings = library_of(transaction, &row)?;
            if settings.require_checkout {
                return Err(checkout_required(&row.name));
            }
            let old = version::find_number(transaction, id, number)?
                .ok_or_else(|| Error::not_found(format!("the document has no version {number}")))?;
            let now = Timestamp::now();
            let mut new = old.clone();
            new.id = guard.next_id();
            new.number = next_number(&settings, row.number);
            checked.require_publish(&settings, &row, new.number)?;
            new.created_at = now;
            new.created_by = guard.caller();
            new.modified_at = now;
            new.comment.clone_from(&comment);
            version::insert(transaction, &new)?;
            row.size = new.size;
            row.media_type.clone_from(&new.media_type);
            row.version_id = Some(new.id);
            row.number = new.number;
            if new.number.is_major() {
                row.published_id = Some(new.id);
            }
            row.modified_at = now;
            row.modified_by = guard.caller();
            node::update_content(transaction, &row)?;
            forget_submission(transaction, row.id, &settings)?;
            let freed = trim(transaction, &row, &settings)?;
            let quota = checked.collection.quota_bytes;
            charge(transaction, guard, quota, checked.collection.id, new.size - freed, 0)?;
            let detail = Detail::from(path.as_str()).fact(format!("{number} → {}", new.number));
            guard.record(transaction, id, "version.restore", detail)?;
            Ok(new.number)
        };
        guard.write(write).await
    }

    /// Publishes the latest draft as the next major version.
    #[boxed]
    pub async fn publish(&self, target: &Target, comment: &str) -> Result<VersionNumber> {
        require_comment(comment)?;
        let located = self.document_to_change(target, Right::Publish).await?;
        let guard = self.guard([&located])?;
        let (id, path, comment) = (located.node().id, located.path(), comment.to_owned());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            publish_latest(transaction, guard, checked, row, &path, &comment)
        };
        guard.write(write).await
    }

    /// Deletes an earlier version permanently. The current and the published version cannot be deleted.
    #[boxed]
    pub async fn delete_version(&self, target: &Target, number: VersionNumber) -> Result<()> {
        let located = self.document_to_change(target, Right::Override).await?;
        let guard = self.guard([&located, &located.to(Right::ViewVersions)?])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_unlocked(transaction, checked, &row)?;
            let old = version::find_number(transaction, id, number)?
                .ok_or_else(|| Error::not_found(format!("the document has no version {number}")))?;
            if [row.version_id, row.published_id, row.working_id].contains(&Some(old.id)) {
                return Err(Error::conflict(format!("{number} is the current version: delete the document instead"))
                    .with_code(Code::VersionInUse));
            }
            version::delete(transaction, old.id)?;
            charge(transaction, guard, None, checked.collection.id, -old.size, 0)?;
            guard.record(transaction, id, "version.delete", Detail::from(path.as_str()).fact(number))
        };
        guard.allow_reserved_space().write(write).await
    }

    /// Returns whether the library of an item keeps drafts that the caller may publish. The caller must be able to open
    /// the item.
    #[boxed]
    pub async fn may_publish(&self, target: &Target) -> Result<bool> {
        let (located, settings) =
            self.view(target, |reader, located| library::find(reader, located.node().library_id)).await?;
        let drafts = settings.filter(|settings| settings.versioning == Versioning::MajorMinor);
        Ok(drafts.is_some_and(|settings| settings.may_publish(located.rights())))
    }
}

/// Makes the latest draft of a locked document its next major version. Without a comment it keeps that of its author.
/// Removes its submission.
pub(super) fn publish_latest(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    checked: &Checked,
    mut row: NodeRow,
    path: &str,
    comment: &str,
) -> Result<VersionNumber> {
    let latest = draft_of(&row)?;
    let settings = library_of(transaction, &row)?;
    row.number = row.number.next_major();
    checked.require_publish(&settings, &row, row.number)?;
    row.published_id = Some(latest);
    let authors = match comment.is_empty() {
        true => version::find(transaction, latest)?.map(|version| version.comment).unwrap_or_default(),
        false => String::new(),
    };
    let comment = if comment.is_empty() { &authors } else { comment };
    version::renumber(transaction, latest, row.number, comment)?;
    node::update_content(transaction, &row)?;
    submission::delete(transaction, row.id)?;
    let freed = trim(transaction, &row, &settings)?;
    charge(transaction, guard, None, checked.collection.id, -freed, 0)?;
    guard.record(transaction, row.id, "version.publish", Detail::from(path).fact(row.number))?;
    Ok(row.number)
}
