//! The versions of a document that are indexed, and who sees which. The rules are those of
//! [`crate::session::locate::Located::visible_version`].

use database::content::node::NodeRow;
use model::Id;
use search::index::Face;

/// A version of a document that some callers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedFace {
    /// Its audience.
    pub face: Face,
    /// The version.
    pub version: Id,
    /// Holder of a working copy, who sees no other version; [`Id::NONE`] if there is no working copy.
    pub holder: Id,
}

/// Returns the versions of a document that callers see.
pub fn indexed_faces(document: &NodeRow) -> Vec<IndexedFace> {
    let working = document.holder_id.zip(document.working_id);
    let holder = working.map_or(Id::NONE, |(holder, _)| holder);
    let of = |face: Face, version: Option<Id>| version.map(|version| IndexedFace { face, version, holder });
    let faces = if document.published_id == document.version_id {
        [of(Face::All, document.version_id), None]
    } else {
        [of(Face::Published, document.published_id), of(Face::Draft, document.version_id)]
    };
    let working = of(Face::WorkingCopy, working.map(|(_, version)| version));
    faces.into_iter().chain([working]).flatten().collect()
}
