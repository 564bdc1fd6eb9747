//! Documents that changed since an index was committed. What the index says of them is compared with their rows, so
//! that moved, replaced and deleted documents are judged as they are now.

use std::collections::HashMap;

use database::Reader;
use database::content::{feed, node, scope};
use model::{Id, NodeKind, Result};
use search::index::{Candidate, Checkpoint};

use super::faces::{IndexedFace, indexed_faces};

/// Limit on the events that are read for one search.
const MAX_EVENTS: usize = 500;

/// The documents that changed since a commit of the index.
#[derive(Default)]
pub(super) struct Tail {
    documents: HashMap<Id, ChangedDocument>,
    /// True if there are more changes than were read.
    pub(super) is_cut: bool,
}

/// A document as it is now.
struct ChangedDocument {
    place: Id,
    /// The versions that callers see; none if what the index has of it is out of date.
    faces: Vec<IndexedFace>,
}

impl Tail {
    /// Reads the changes after a checkpoint.
    pub(super) fn after(reader: &mut Reader<'_>, checkpoint: &Checkpoint) -> Result<Self> {
        let mut events = feed::after(reader, checkpoint.sequence, MAX_EVENTS + 1)?;
        let is_cut = events.len() > MAX_EVENTS;
        if !checkpoint.gaps.is_empty() {
            let missing: Vec<i64> = checkpoint.gaps.iter().map(|gap| gap.sequence).collect();
            events.append(&mut feed::at(reader, &missing)?);
        }
        let mut documents = HashMap::new();
        for event in events {
            // The new name is not in the index yet. The search for names compares it.
            let is_renamed = event.action == "item.rename";
            if let Some(known) = documents.get_mut(&event.node_id) {
                let ChangedDocument { faces, .. } = known;
                if is_renamed {
                    faces.clear();
                }
                continue;
            }
            let changed = match node::find(reader, event.node_id)? {
                Some(row) if row.kind == NodeKind::Document => {
                    let own = scope::of_node(reader, row.id)?.is_some();
                    let faces = if is_renamed { Vec::new() } else { indexed_faces(&row) };
                    ChangedDocument { place: if own { row.id } else { row.parent_id }, faces }
                }
                Some(_) => continue,
                None => ChangedDocument { place: Id::NONE, faces: Vec::new() },
            };
            documents.insert(event.node_id, changed);
        }
        Ok(Self { documents, is_cut })
    }

    /// Returns the place of an entry now; `None` if the entry is out of date.
    pub(super) fn place(&self, entry: &Candidate<'_>) -> Option<Id> {
        if self.documents.is_empty() {
            return Some(entry.place());
        }
        let Some(changed) = self.documents.get(&entry.node()) else { return Some(entry.place()) };
        let is_current = |face: &IndexedFace| {
            (face.version, Some(face.face), face.holder) == (entry.version(), entry.face(), entry.holder())
        };
        changed.faces.iter().any(is_current).then_some(changed.place)
    }

    /// Returns the place of a document now, if it changed.
    pub(super) fn changed_place(&self, document: Id) -> Option<Id> {
        self.documents.get(&document).map(|changed| changed.place)
    }
}
