//! Approval of drafts: submitting one, approving exactly what was submitted, and rejecting it with a reason.
//!
//! A submission speaks of one version. A newer draft makes it out of date, and has to be submitted again.

use async_recursion::async_recursion as boxed;
use database::content::node::NodeRow;
use database::content::submission::{self, SubmissionRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp, VersionNumber};

use crate::content::event_detail::Detail;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Viewed;
use crate::{Session, Target};

use super::rules::{draft_of, library_of, require_comment};
use super::versions::publish_latest;

/// A draft that was submitted for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The version that was submitted.
    pub version_id: Id,
    /// Its number.
    pub version: VersionNumber,
    /// Identifier of the submitter.
    pub by: Id,
    /// Time of the submission.
    pub at: Timestamp,
    /// Comment of the submitter.
    pub comment: String,
    /// The rejection; `None` while the draft waits.
    pub rejection: Option<Rejection>,
}

/// The rejection of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Identifier of the person who rejected it.
    pub by: Id,
    /// Time of the rejection.
    pub at: Timestamp,
    /// The reason.
    pub reason: String,
}

impl Session {
    /// Returns the submission of the latest draft of a document; `None` if it was not submitted, or if the caller does
    /// not see drafts of the document.
    ///
    /// # Errors
    /// `NotFound` for an item that is no document or that the caller may not open.
    #[boxed]
    pub async fn submission(&self, target: &Target) -> Result<Option<Submission>> {
        let read = |reader: &mut Reader<'_>, located: &Viewed| {
            located.require_kind(NodeKind::Document)?;
            let node = located.node();
            if !located.sees_drafts(node) {
                return Ok(None);
            }
            let found = submission::find(reader, node.id)?;
            Ok(found.filter(|row| node.version_id == Some(row.version_id)).map(|row| of_row(row, node.number)))
        };
        Ok(self.view(target, read).await?.1)
    }

    /// Submits the latest draft of a document for approval, in place of an earlier submission. Repeating it for the
    /// same draft changes the comment. `seen` is the version that the caller has looked at, if any.
    ///
    /// # Errors
    /// `Forbidden` without the right to edit; `Conflict` with code `no_draft` without a draft, or with one that is
    /// checked out, and with code `overtaken` if there is a newer draft than the one that was looked at.
    #[boxed]
    pub async fn submit(&self, target: &Target, seen: Option<Id>, comment: &str) -> Result<VersionNumber> {
        require_comment(comment)?;
        let located = self.document_to_change(target, Right::Edit).await?;
        let guard = self.guard([&located])?;
        let (id, path, comment) = (located.node().id, located.path(), comment.trim().to_owned());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            let draft = draft_of(&row)?;
            if seen.is_some_and(|seen| seen != draft) {
                return Err(overtaken(format!("\"{}\" has a newer draft: look at it, then submit it", row.name)));
            }
            let submitted = SubmissionRow {
                node_id: id,
                version_id: draft,
                submitted_by: guard.caller(),
                submitted_at: Timestamp::now(),
                comment: comment.clone(),
                rejected_by: None,
                rejected_at: None,
                reason: String::new(),
            };
            submission::put(transaction, &submitted)?;
            guard.record(transaction, id, "document.submit", Detail::from(path.as_str()).fact(row.number))?;
            Ok(row.number)
        };
        guard.write(write).await
    }

    /// Withdraws a submission. The caller must have submitted the draft, or have the right to override.
    ///
    /// # Errors
    /// `Forbidden`; `Conflict` with code `not_submitted`.
    #[boxed]
    pub async fn withdraw(&self, target: &Target) -> Result<()> {
        let located = self.document_to_change(target, Right::Edit).await?;
        let guard = self.guard([&located])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            let overrides = checked.access.rights(row.scope_id).has(Right::Override);
            let found = submission::find(transaction, id)?.filter(|found| found.rejected_by.is_none());
            let found = found.ok_or_else(|| not_submitted(&row.name))?;
            if found.submitted_by != guard.caller() && !overrides {
                return Err(Error::lacking(Right::Override, &row.name));
            }
            submission::delete(transaction, id)?;
            guard.record(transaction, id, "document.withdraw", path.as_str())
        };
        guard.write(write).await
    }

    /// Publishes the draft that was submitted. `seen` is the version that the caller has looked at. Without a comment
    /// the version keeps the comment of its author.
    ///
    /// # Errors
    /// `Forbidden` without the right to publish; `Conflict` with code `not_submitted`, and with code `overtaken` if the
    /// submitted version is not `seen`.
    #[boxed]
    pub async fn approve(&self, target: &Target, seen: Id, comment: &str) -> Result<VersionNumber> {
        require_comment(comment)?;
        let located = self.document_to_change(target, Right::Publish).await?;
        let guard = self.guard([&located])?;
        let (id, path, comment) = (located.node().id, located.path(), comment.trim().to_owned());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            waiting(transaction, &row, seen)?;
            publish_latest(transaction, guard, checked, row, &path, &comment)
        };
        guard.write(write).await
    }

    /// Rejects the draft that was submitted. `seen` is the version that the caller has looked at. Its author can change
    /// it and submit it again.
    ///
    /// # Errors
    /// `Forbidden` without the right to publish; `Invalid` with code `reason_required` without a reason; `Conflict`
    /// with code `not_submitted`, and with code `overtaken` if the submitted version is not `seen`.
    #[boxed]
    pub async fn reject(&self, target: &Target, seen: Id, reason: &str) -> Result<()> {
        require_comment(reason)?;
        if reason.trim().is_empty() {
            return Err(
                Error::invalid("say why, so that the author knows what to change").with_code(Code::ReasonRequired)
            );
        }
        let located = self.document_to_change(target, Right::Publish).await?;
        let guard = self.guard([&located])?;
        let (id, path, reason) = (located.node().id, located.path(), reason.trim().to_owned());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            checked.require_publish(&library_of(transaction, &row)?, &row, row.number.next_major())?;
            let rejected = SubmissionRow {
                rejected_by: Some(guard.caller()),
                rejected_at: Some(Timestamp::now()),
                reason: reason.clone(),
                ..waiting(transaction, &row, seen)?
            };
            submission::put(transaction, &rejected)?;
            guard.record(transaction, id, "document.reject", Detail::from(path.as_str()).fact(row.number))
        };
        guard.write(write).await
    }
}

/// Returns the submission of the latest version, if it waits for a decision and is the one that was `seen`. Identifiers
/// are compared, because a save can replace a version by another one with the same number.
fn waiting(transaction: &mut Transaction<'_>, row: &NodeRow, seen: Id) -> Result<SubmissionRow> {
    let found = submission::find(transaction, row.id)?.filter(|found| found.rejected_by.is_none());
    let found = found.ok_or_else(|| not_submitted(&row.name))?;
    match row.version_id == Some(found.version_id) && found.version_id == seen {
        true => Ok(found),
        false => Err(overtaken(format!(
            "\"{}\" has changed since it was submitted: look at the new draft, which has to be submitted again",
            row.name
        ))),
    }
}

fn overtaken(message: String) -> Error {
    Error::conflict(message).with_code(Code::Overtaken)
}

fn not_submitted(name: &str) -> Error {
    Error::conflict(format!("\"{name}\" does not wait for approval")).with_code(Code::NotSubmitted)
}

fn of_row(row: SubmissionRow, version: VersionNumber) -> Submission {
    let rejection = row.rejected_by.zip(row.rejected_at);
    Submission {
        version_id: row.version_id,
        version,
        by: row.submitted_by,
        at: row.submitted_at,
        comment: row.comment,
        rejection: rejection.map(|(by, at)| Rejection { by, at, reason: row.reason }),
    }
}
