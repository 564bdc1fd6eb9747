//! The places of a content database in memory: which scope is in force for documents in them, and whether a path leads
//! to them. An entry of the index names its place, so that a change of permissions, a move or a deletion of a folder
//! acts on the next search without any entry being written anew.

use std::collections::HashMap;
use std::sync::Arc;

use database::Reader;
use database::content::feed::{self, PlaceRow};
use model::{Id, MAX_DEPTH, Result};

/// The places of all site collections of a content database.
#[derive(Default)]
pub(super) struct Places(HashMap<Id, Arc<CollectionPlaces>>);

/// The places of a site collection, as of one version of its tree.
struct CollectionPlaces {
    tree_version: i64,
    places: HashMap<Id, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    parent: Id,
    scope: Id,
    /// True if a path leads to it: it is not in a recycle bin, and nothing above it is.
    reachable: bool,
}

impl Places {
    /// Returns the places as of the reader's snapshot. Only site collections whose tree has changed are read again.
    pub(super) fn current(self: &Arc<Self>, reader: &mut Reader<'_>) -> Result<Arc<Self>> {
        let trees = feed::trees(reader)?;
        let is_current = |(id, version): &(Id, i64)| self.0.get(id).is_some_and(|kept| kept.tree_version == *version);
        if trees.len() == self.0.len() && trees.iter().all(is_current) {
            return Ok(self.clone());
        }
        let mut places = HashMap::with_capacity(trees.len());
        for tree in trees {
            let (id, tree_version) = tree;
            let kept = self.0.get(&id).filter(|_| is_current(&tree)).cloned();
            let current = match kept {
                Some(kept) => kept,
                None => Arc::new(CollectionPlaces { tree_version, places: read(reader, id)? }),
            };
            places.insert(id, current);
        }
        Ok(Arc::new(Self(places)))
    }

    /// Returns the scope in force for documents in a place; `None` if no path leads to it.
    pub(super) fn scope(&self, collection: Id, place: Id) -> Option<Id> {
        let place = self.0.get(&collection)?.places.get(&place)?;
        place.reachable.then_some(place.scope)
    }

    /// Iterates over a place and everything above it, up to the root site.
    pub(super) fn upward(&self, collection: Id, place: Id) -> impl Iterator<Item = Id> {
        let places = self.0.get(&collection).map(|collection| &collection.places);
        let parent = move |id: &Id| places?.get(id).map(|place| place.parent).filter(|parent| !parent.is_none());
        std::iter::successors(Some(place), parent).take(MAX_DEPTH + 1)
    }
}

fn read(reader: &mut Reader<'_>, collection: Id) -> Result<HashMap<Id, Place>> {
    let rows = feed::places(reader, collection)?;
    let place = |row: &PlaceRow| Place { parent: row.parent_id, scope: row.scope_id, reachable: false };
    let mut places: HashMap<Id, Place> = rows.iter().map(|row| (row.id, place(row))).collect();
    let mut known: HashMap<Id, bool> = HashMap::with_capacity(rows.len());
    let mut way = Vec::new();
    for row in &rows {
        let mut at = row.id;
        let reachable = loop {
            if let Some(reachable) = known.get(&at) {
                break *reachable;
            }
            way.push(at);
            match places.get(&at) {
                Some(place) if place.parent.is_none() => break true,
                Some(place) if way.len() <= MAX_DEPTH + 1 => at = place.parent,
                _ => break false,
            }
        };
        known.extend(way.drain(..).map(|id| (id, reachable)));
    }
    for (id, place) in &mut places {
        place.reachable = known.get(id).copied().unwrap_or(false);
    }
    Ok(places)
}
