//! Documents and rows of lists that changed since an index was committed. What the index says of them is compared with
//! their rows, so that moved, replaced and deleted documents are judged as they are now.

use std::collections::HashSet;

use database::Reader;
use database::content::{attachment, feed};
use model::{Id, Result, Timestamp};
use rustc_hash::FxHashMap;
use search::index::{Candidate, Checkpoint, name_print};

use super::effect::{IndexEffect, adds_below, changes_values, index_effect};
use super::indexed_versions::{IndexedVersion, indexed_versions};

/// Limit on the events that are read for one search.
const MAX_EVENTS: usize = 2_000;
/// Limit on the changed documents whose rows are read for one search.
const MAX_DOCUMENTS: usize = 500;

/// An entry of the index, compared with the changes since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its document did not change.
    Unchanged,
    /// Its document changed, but not the entry, except for the place.
    In(Id),
    /// It is replaced by what the row of its document says.
    Outdated,
}

/// The documents that changed since a commit of the index.
#[derive(Default)]
pub(super) struct UnindexedChanges {
    /// By identifier; `None` for those that are gone.
    documents: FxHashMap<Id, Option<UnindexedDocument>>,
    /// Documents whose values in columns changed.
    other_values: HashSet<Id>,
    /// True if there are more changes than were read.
    pub(super) is_cut: bool,
    /// Containers that were copied or restored. The documents in them have no events of their own.
    pub(super) containers: Vec<Id>,
}

/// A document as it is now.
pub(super) struct UnindexedDocument {
    pub(super) collection: Id,
    pub(super) place: Id,
    /// Its creator.
    pub(super) author: Id,
    pub(super) name_print: u64,
    /// Its name, folded.
    pub(super) folded: String,
    /// Time of its last change.
    pub(super) modified: Timestamp,
    is_checked_out: bool,
    /// The versions that callers see.
    pub(super) versions: Vec<IndexedVersion>,
}

impl UnindexedChanges {
    /// Reads the changes after a checkpoint.
    pub(super) fn after(reader: &mut Reader<'_>, checkpoint: &Checkpoint) -> Result<Self> {
        let mut events = feed::after(reader, checkpoint.sequence, MAX_EVENTS + 1)?;
        let mut is_cut = events.len() > MAX_EVENTS;
        if !checkpoint.gaps.is_empty() {
            let missing: Vec<i64> = checkpoint.gaps.iter().map(|gap| gap.sequence).collect();
            events.append(&mut feed::at(reader, &missing)?);
        }
        let (mut changed, mut with_content, mut other_values) = (HashSet::new(), HashSet::new(), HashSet::new());
        for event in events.into_iter().filter(|event| index_effect(&event.action) != IndexEffect::Nothing) {
            if adds_below(&event.action) {
                with_content.insert(event.node_id);
            }
            if changes_values(&event.action) {
                other_values.insert(event.node_id);
            }
            if changed.len() < MAX_DOCUMENTS {
                changed.insert(event.node_id);
            } else {
                is_cut |= !changed.contains(&event.node_id);
            }
        }
        // What is done to a row concerns its attachments: the index knows its list as their place.
        let rows: Vec<Id> = changed.iter().copied().collect();
        let attachments = attachment::of_rows(reader, &rows, MAX_DOCUMENTS)?;
        is_cut |= attachments.len() == MAX_DOCUMENTS;
        changed.extend(attachments);
        let changed: Vec<Id> = changed.into_iter().collect();
        let rows = feed::reachable(reader, &changed)?;
        let places = feed::places_of(reader, &rows)?;
        let mut documents: FxHashMap<Id, Option<UnindexedDocument>> =
            changed.into_iter().map(|id| (id, None)).collect();
        for row in rows {
            let document = UnindexedDocument {
                collection: row.collection_id,
                author: row.created_by,
                place: places.get(&row.id).copied().unwrap_or(row.parent_id),
                name_print: name_print(row.shown_name()),
                is_checked_out: row.holder_id.is_some(),
                versions: indexed_versions(&row),
                folded: row.shown_folded().into_owned(),
                modified: row.modified_at,
            };
            documents.insert(row.id, Some(document));
        }
        // A copied or restored document that is gone is taken for a container. That costs time only.
        let is_container = |id: &Id| documents.get(id).is_none_or(Option::is_none);
        let containers = with_content.into_iter().filter(is_container).collect();
        Ok(Self { documents, other_values, is_cut, containers })
    }

    /// Returns where an entry belongs now.
    pub(super) fn standing(&self, entry: &Candidate<'_>) -> Standing {
        if self.documents.is_empty() {
            return Standing::Unchanged;
        }
        let Some(changed) = self.documents.get(&entry.node()) else { return Standing::Unchanged };
        let Some(changed) = changed else { return Standing::Outdated };
        let is_current = |indexed: &IndexedVersion| {
            (indexed.version, Some(indexed.audience), indexed.holder)
                == (entry.version(), entry.audience(), entry.holder())
        };
        // A new name is not in the index yet. The search for names compares it.
        let is_current = entry.name_print() == changed.name_print && changed.versions.iter().any(is_current);
        if is_current { Standing::In(changed.place) } else { Standing::Outdated }
    }

    /// Returns whether values of a document in columns changed.
    pub(super) fn has_other_values(&self, document: Id) -> bool {
        self.other_values.contains(&document)
    }

    /// Returns whether a document is checked out now; `None` if it did not change.
    pub(super) fn is_checked_out(&self, document: Id) -> Option<bool> {
        Some(self.documents.get(&document)?.as_ref().is_some_and(|changed| changed.is_checked_out))
    }

    /// Returns whether a document changed.
    pub(super) fn has(&self, document: Id) -> bool {
        self.documents.contains_key(&document)
    }

    /// Iterates over the documents that changed and still exist.
    pub(super) fn documents(&self) -> impl Iterator<Item = (Id, &UnindexedDocument)> {
        self.documents.iter().filter_map(|(id, changed)| Some((*id, changed.as_ref()?)))
    }

    /// Iterates over the documents that changed; `None` for those that are gone.
    pub(super) fn all_documents(&self) -> impl Iterator<Item = (Id, Option<&UnindexedDocument>)> {
        self.documents.iter().map(|(id, changed)| (*id, changed.as_ref()))
    }

    /// Returns the place of a document now, if it changed.
    pub(super) fn changed_place(&self, document: Id) -> Option<Id> {
        self.documents.get(&document)?.as_ref().map(|changed| changed.place)
    }
}
