//! The versions of a document that are indexed, and who sees which. Of a row of a list, that is its present revision,
//! which all see who may view it. The rules are those of
//! [`crate::session::locate::Located::visible_version`].

use database::content::node::NodeRow;
use model::Id;
use search::index::Audience;

/// A version of a document that some callers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedVersion {
    /// Its audience.
    pub audience: Audience,
    /// The version.
    pub version: Id,
    /// Holder of a working copy, who sees no other version; [`Id::NONE`] if there is no working copy.
    pub holder: Id,
}

/// Returns the versions of a document that callers see.
pub fn indexed_versions(document: &NodeRow) -> Vec<IndexedVersion> {
    let working = document.holder_id.zip(document.working_id);
    let holder = working.map_or(Id::NONE, |(holder, _)| holder);
    let of =
        |audience: Audience, version: Option<Id>| version.map(|version| IndexedVersion { audience, version, holder });
    let indexed = if document.published_id == document.version_id {
        [of(Audience::All, document.version_id), None]
    } else {
        [of(Audience::Published, document.published_id), of(Audience::Draft, document.version_id)]
    };
    let working = of(Audience::WorkingCopy, working.map(|(_, version)| version));
    indexed.into_iter().chain([working]).flatten().collect()
}
