//! Versions.

use repository::{Submission, Version, etag};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A version of a document.
#[derive(Serialize, ToSchema)]
pub struct VersionJson {
    /// Its number; `2.0` is published, `2.1` is a draft.
    pub number: String,
    /// Size in bytes.
    pub size: u64,
    /// Media type.
    pub media_type: String,
    /// Time at which it was stored.
    pub created_at: String,
    /// User who created it.
    pub created_by: PersonJson,
    /// Comment by its author.
    pub comment: String,
    /// BLAKE3-256 of the bytes, in hexadecimal.
    pub digest: String,
    /// True if this is the version that readers see.
    pub current: bool,
}

impl VersionJson {
    /// Creates the JSON form of a version, with the name of its author.
    pub fn new(version: Version, names: &Names) -> Self {
        Self {
            number: version.number.to_string(),
            size: version.size,
            media_type: version.media_type,
            created_at: time::format(version.created_at),
            created_by: names.person(version.created_by),
            comment: version.comment,
            digest: version.digest.to_string(),
            current: version.current,
        }
    }
}

/// The version that a change created.
#[derive(Serialize, ToSchema)]
pub struct NewVersion {
    /// Its number.
    pub version: String,
}

/// A comment of the author.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Comment {
    /// Up to 4,000 characters.
    #[schema(value_type = super::rules::CommentText)]
    pub comment: String,
}

/// The approval of a submitted draft.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalForm {
    /// `etag` of the submission that was looked at.
    #[schema(value_type = super::rules::RowTag)]
    pub etag: String,
    /// Comment of the version, up to 4,000 characters; without one it keeps the comment of its author.
    #[schema(value_type = super::rules::CommentText)]
    #[serde(default)]
    pub comment: String,
}

/// The rejection of a submitted draft.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectionForm {
    /// `etag` of the submission that was looked at.
    #[schema(value_type = super::rules::RowTag)]
    pub etag: String,
    /// Reason, which tells the author what to change: 1 to 4,000 characters, not only white space.
    #[schema(value_type = super::rules::ReasonText)]
    pub reason: String,
}

/// A draft that was submitted for approval.
#[derive(Serialize, ToSchema)]
pub struct SubmissionJson {
    /// Entity tag of the version that was submitted, without quotes.
    pub etag: String,
    /// Its number.
    pub version: String,
    /// User who submitted it.
    pub submitted_by: PersonJson,
    /// Time of the submission.
    pub submitted_at: String,
    /// Comment of the submitter.
    pub comment: String,
    /// The rejection; absent while the draft waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection: Option<RejectionJson>,
}

/// The rejection of a draft.
#[derive(Serialize, ToSchema)]
pub struct RejectionJson {
    /// User who rejected it.
    pub by: PersonJson,
    /// Time of the rejection.
    pub at: String,
    /// The reason.
    pub reason: String,
}

impl SubmissionJson {
    /// Creates the JSON form of a submission, with the names of those who submitted and rejected it.
    pub fn new(found: Submission, names: &Names) -> Self {
        Self {
            etag: etag(found.version_id),
            version: found.version.to_string(),
            submitted_by: names.person(found.by),
            submitted_at: time::format(found.at),
            comment: found.comment,
            rejection: found.rejection.map(|rejection| RejectionJson {
                by: names.person(rejection.by),
                at: time::format(rejection.at),
                reason: rejection.reason,
            }),
        }
    }
}

/// Options of a check-in.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckInJson {
    /// The author's comment on the new version.
    #[schema(value_type = super::rules::CommentText)]
    pub comment: String,
    /// In a library with drafts: publish immediately.
    pub publish: bool,
    /// Keep the document checked out.
    pub keep: bool,
}
