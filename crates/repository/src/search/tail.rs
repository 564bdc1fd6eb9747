//! Documents that changed since an index was committed. What the index says of them is compared with their rows, so
//! that moved, replaced and deleted documents are judged as they are now.

use std::collections::HashMap;

use database::Reader;
use database::content::node::{self, NodeRow};
use database::content::{feed, scope};
use model::{Id, NodeKind, Result};
use search::index::{Candidate, Checkpoint};

use super::effect::{IndexEffect, index_effect};
use super::faces::{IndexedFace, indexed_faces};

/// The action of a renamed item.
const RENAME: &str = "item.rename";
/// Limit on the events that are read for one search.
const MAX_EVENTS: usize = 2_000;
/// Limit on the changed documents whose rows are read for one search.
const MAX_DOCUMENTS: usize = 500;

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
        let mut is_cut = events.len() > MAX_EVENTS;
        if !checkpoint.gaps.is_empty() {
            let missing: Vec<i64> = checkpoint.gaps.iter().map(|gap| gap.sequence).collect();
            events.append(&mut feed::at(reader, &missing)?);
        }
        // True for documents that were renamed.
        let mut changed: HashMap<Id, bool> = HashMap::new();
        for event in events.into_iter().filter(|event| index_effect(&event.action) != IndexEffect::Nothing) {
            if changed.len() >= MAX_DOCUMENTS && !changed.contains_key(&event.node_id) {
                is_cut = true;
                continue;
            }
            *changed.entry(event.node_id).or_default() |= event.action == RENAME;
        }
        let mut documents = HashMap::with_capacity(changed.len());
        for (id, is_renamed) in changed {
            let row = node::find(reader, id)?;
            if row.as_ref().is_some_and(|row| row.kind != NodeKind::Document) {
                continue;
            }
            documents.insert(id, ChangedDocument::of(reader, row, is_renamed)?);
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

impl ChangedDocument {
    fn of(reader: &mut Reader<'_>, row: Option<NodeRow>, is_renamed: bool) -> Result<Self> {
        let gone = Self { place: Id::NONE, faces: Vec::new() };
        let Some(row) = row else { return Ok(gone) };
        // The parent of a deleted document is an entry of the recycle bin.
        if node::find(reader, row.parent_id)?.is_none() {
            return Ok(gone);
        }
        let own = scope::of_node(reader, row.id)?.is_some();
        // The new name is not in the index yet. The search for names compares it.
        let faces = if is_renamed { Vec::new() } else { indexed_faces(&row) };
        Ok(Self { place: if own { row.id } else { row.parent_id }, faces })
    }
}
