//! Versions.

use repository::Version;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A version of a document.
#[derive(Serialize, ToSchema)]
pub struct VersionJson {
    /// Its number; `2.0` is published, `2.1` is a draft.
    pub number: String,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub media_type: String,
    /// When it was stored.
    pub created_at: String,
    /// By whom.
    pub created_by: PersonJson,
    /// What its author said about it.
    pub comment: String,
    /// BLAKE3-256 of the bytes, in hexadecimal.
    pub digest: String,
    /// Whether readers see this one.
    pub current: bool,
}

impl VersionJson {
    /// A version with the name of its author.
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

/// The version that a change made.
#[derive(Serialize, ToSchema)]
pub struct NewVersion {
    /// Its number.
    pub version: String,
}

/// What the author says.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Comment {
    /// Up to 4,000 characters.
    #[schema(value_type = super::rules::CommentText)]
    pub comment: String,
}

/// How to check a document in.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckInJson {
    /// What the author says about the new version.
    #[schema(value_type = super::rules::CommentText)]
    pub comment: String,
    /// In a library with drafts: publish at once.
    pub publish: bool,
    /// Keep the document checked out.
    pub keep: bool,
}
