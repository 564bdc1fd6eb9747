//! Rules shared by saving, checking in and restoring: refusal of changes to a document held by another user,
//! preconditions, version numbers and version limits, quota.

use database::Transaction;
use database::content::node::NodeRow;
use database::content::{collection, library, submission, version};
use model::{
    Code, Error, Id, LibrarySettings, MAX_COMMENT, Result, VersionNumber, Versioning, exact_size, readable_size,
    unsigned,
};

use crate::items::item::etag;
use crate::session::guard::Guard;

/// Preconditions that a client sets on the current state for its change to be made (RFC 9110, 13.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Entity tags, one of which must be the current one; `*` means that the document must exist.
    pub if_match: Option<Vec<String>>,
    /// Entity tags, none of which may be the current one; `*` means that the document must not exist.
    pub if_none_match: Option<Vec<String>>,
}

impl Preconditions {
    /// Evaluates the preconditions against the current version, or against `None` for a document that does not exist.
    ///
    /// # Errors
    /// `Conflict` with the code `precondition_failed`.
    pub fn check(&self, present: Option<Id>) -> Result<()> {
        let present = present.map(etag);
        let is_in = |tags: &[String]| match &present {
            Some(tag) => tags.iter().any(|wanted| wanted == "*" || wanted == tag),
            None => false,
        };
        if self.if_match.as_deref().is_some_and(|tags| !is_in(tags)) {
            let message = match &present {
                Some(_) => "the document has changed since you read it: read it again, then repeat",
                None => "there is no document here to replace: leave out If-Match to create a new one",
            };
            return Err(Error::conflict(message).with_code(Code::PreconditionFailed));
        }
        if self.if_none_match.as_deref().is_some_and(is_in) {
            return Err(Error::conflict("the document already exists, but the request requires that it does not")
                .with_code(Code::PreconditionFailed));
        }
        Ok(())
    }
}

/// Returns the number of the version that follows `last` when content is replaced.
pub(crate) fn next_number(settings: &LibrarySettings, last: VersionNumber) -> VersionNumber {
    match settings.versioning {
        Versioning::None => VersionNumber::new(last.major.max(1), 0),
        Versioning::Major => last.next_major(),
        Versioning::MajorMinor => last.next_minor(),
    }
}

/// Returns the latest version of a document if it is a draft that nobody holds.
pub(super) fn draft_of(row: &NodeRow) -> Result<Id> {
    let draft = row.version_id.filter(|_| row.holder_id.is_none() && row.number.minor > 0);
    draft.ok_or_else(|| {
        Error::conflict(format!("\"{}\" has no draft that could be published", row.name)).with_code(Code::NoDraft)
    })
}

/// Removes the submission of a document that has a newer version. Libraries without drafts have no submissions, and
/// save the statement.
pub(crate) fn forget_submission(
    transaction: &mut Transaction<'_>,
    document: Id,
    settings: &LibrarySettings,
) -> Result<()> {
    match settings.versioning {
        Versioning::MajorMinor => submission::delete(transaction, document).map(drop),
        Versioning::None | Versioning::Major => Ok(()),
    }
}

/// Removes versions beyond the library's limits and returns the number of bytes freed.
pub(crate) fn trim(transaction: &mut Transaction<'_>, node: &NodeRow, settings: &LibrarySettings) -> Result<i64> {
    let mut excess = Vec::new();
    if settings.major_limit > 0 && node.number.major > settings.major_limit {
        excess.extend(version::excess_major(transaction, node.id, settings.major_limit)?);
    }
    if settings.versioning == Versioning::MajorMinor && settings.minor_limit > 0 && node.number.minor == 0 {
        excess.extend(version::excess_drafts(transaction, node.id, settings.minor_limit)?);
    }
    release_versions(transaction, &excess)
}

/// Removes versions and returns the number of bytes freed.
pub(crate) fn release_versions(transaction: &mut Transaction<'_>, versions: &[(Id, i64)]) -> Result<i64> {
    let mut bytes = 0;
    for (id, size) in versions {
        version::delete(transaction, *id)?;
        bytes += size;
    }
    Ok(bytes)
}

/// Adds bytes and documents to the site collection's counters, and refuses bytes beyond the quota. Uploads wait for
/// each other here only in a site collection with a quota.
pub(crate) fn charge(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    quota: Option<i64>,
    collection_id: Id,
    bytes: i64,
    documents: i64,
) -> Result<()> {
    if let Some(quota) = quota.filter(|_| bytes > 0) {
        collection::lock(transaction, collection_id)?;
        let (used, _) = collection::usage(transaction, collection_id)?;
        if used.saturating_add(bytes) > quota {
            return Err(over_quota(guard.knows_totals.then_some(used), quota, bytes));
        }
    }
    if bytes == 0 && documents == 0 {
        return Ok(());
    }
    collection::add_usage(transaction, collection_id, guard.next_id(), bytes, documents)
}

/// Error for bytes that exceed the quota. `used`, the bytes already stored, is given only for callers who may know it.
pub(crate) fn over_quota(used: Option<i64>, quota: i64, bytes: i64) -> Error {
    let text = match used {
        Some(used) => format!(
            "the site's quota of {} does not allow {} more: {} are in use, including the recycle bin; empty the bin, \
             delete versions or ask for a larger quota",
            exact_size(unsigned(quota)),
            exact_size(unsigned(bytes)),
            exact_size(unsigned(used))
        ),
        None => format!(
            "the site's quota does not allow {} more: empty your recycle bin, or ask a person who manages the site for \
             a larger quota",
            readable_size(unsigned(bytes))
        ),
    };
    Error::exhausted(text).with_code(Code::QuotaExceeded)
}

/// Returns the settings of the library that contains an item.
pub(crate) fn library_of(transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<LibrarySettings> {
    library::find(transaction, row.library_id)?.ok_or_else(outside_libraries)
}

/// Error for a document outside any library.
pub(super) fn outside_libraries() -> Error {
    Error::conflict("documents are kept in libraries: choose a library").with_code(Code::WrongKind)
}

/// Refuses a comment that is too long or that no database can store. Callers check this before anything else.
///
/// # Errors
/// `Invalid` with code `invalid_comment`.
pub(super) fn require_comment(text: &str) -> Result<()> {
    if text.chars().count() > MAX_COMMENT || text.contains('\0') {
        let said = format!("a comment has at most {MAX_COMMENT} characters and no NUL character");
        return Err(Error::invalid(said).with_code(Code::InvalidComment));
    }
    Ok(())
}
