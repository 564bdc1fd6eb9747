//! The places of a content database in memory: which scope is in force for documents in them, and whether a path leads
//! to them. An entry of the index names its place, so that a change of permissions, a move or a deletion of a folder
//! acts on the next search without any entry being written anew.

use std::collections::HashSet;
use std::sync::Arc;

use database::Reader;
use database::content::feed::{self, PlaceRow};
use model::{Id, MAX_DEPTH, NodeKind};
use rustc_hash::FxHashMap;

/// A place that was created since the places were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct UnknownPlace {
    collection: Id,
    place: Id,
}

/// The places of all site collections of a content database.
pub(super) struct Places {
    /// The site collections, each with the version of its tree.
    pub(super) trees: Arc<[(Id, i64)]>,
    collections: FxHashMap<Id, Arc<CollectionPlaces>>,
}

impl Default for Places {
    fn default() -> Self {
        Self { trees: Arc::new([]), collections: FxHashMap::default() }
    }
}

/// The places of a site collection, as of one version of its tree. New containers do not change that version; they are
/// added when an entry names them.
#[derive(Clone)]
struct CollectionPlaces {
    tree_version: i64,
    places: FxHashMap<Id, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    parent: Id,
    scope: Id,
    /// True if a path leads to it: it is not in a recycle bin, and nothing above it is.
    reachable: bool,
    is_site: bool,
}

impl Place {
    /// A place to which no path leads.
    const NOWHERE: Self = Self { parent: Id::NONE, scope: Id::NONE, reachable: false, is_site: false };

    fn of(row: &PlaceRow) -> Self {
        let is_site = row.kind == NodeKind::Site;
        Self { parent: row.parent_id, scope: row.scope_id, reachable: false, is_site }
    }
}

impl Places {
    /// Returns the places as of the reader's snapshot. Only site collections whose tree has changed are read again.
    pub(super) fn current(self: &Arc<Self>, reader: &mut Reader<'_>) -> model::Result<Arc<Self>> {
        let trees = feed::trees(reader)?;
        if *trees == *self.trees {
            return Ok(self.clone());
        }
        let mut collections = FxHashMap::default();
        for (id, tree_version) in trees.iter().copied() {
            let kept = self.collections.get(&id).filter(|kept| kept.tree_version == tree_version);
            let current = match kept.cloned() {
                Some(kept) => kept,
                None => {
                    let mut places = read(reader, id)?;
                    // Entries may name places that are gone, which need not be looked up again.
                    let gone = self.collections.get(&id).into_iter().flat_map(|before| &before.places);
                    for (place, _) in gone.filter(|(_, known)| known.scope.is_none()) {
                        places.entry(*place).or_insert(Place::NOWHERE);
                    }
                    Arc::new(CollectionPlaces { tree_version, places })
                }
            };
            collections.insert(id, current);
        }
        Ok(Arc::new(Self { trees: trees.into(), collections }))
    }

    /// Returns whether a site collection has a later tree in `other`.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        let is_older = |(id, later): &(Id, i64)| self.collections.get(id).is_some_and(|own| own.tree_version < *later);
        !Arc::ptr_eq(&self.trees, &other.trees) && other.trees.iter().any(is_older)
    }

    /// Returns the scope in force for documents in a place; `Ok(None)` if no path leads to it.
    ///
    /// # Errors
    /// `UnknownPlace` for a place that was created since the places were read.
    pub(super) fn scope(&self, collection: Id, place: Id) -> Result<Option<Id>, UnknownPlace> {
        let Some(collection_places) = self.collections.get(&collection) else { return Ok(None) };
        let known = collection_places.places.get(&place).ok_or(UnknownPlace { collection, place })?;
        Ok(known.reachable.then_some(known.scope))
    }

    /// Returns the places with some that were unknown.
    pub(super) fn with(
        self: &Arc<Self>,
        reader: &mut Reader<'_>,
        unknown: &HashSet<UnknownPlace>,
    ) -> model::Result<Arc<Self>> {
        let mut all = self.collections.clone();
        for UnknownPlace { collection, place } in unknown {
            let Some(known) = all.get_mut(collection) else { continue };
            let places = &mut Arc::make_mut(known).places;
            // The place itself and what is above it, up to the first known one.
            let (mut way, mut next) = (Vec::new(), *place);
            while !places.contains_key(&next) && way.len() <= MAX_DEPTH {
                let Some(row) = feed::place(reader, next)? else { break };
                next = row.parent_id;
                way.push(row);
            }
            let mut reachable = places.get(&next).is_some_and(|above| above.reachable);
            for row in way.into_iter().rev() {
                reachable |= row.parent_id.is_none();
                places.insert(row.id, Place { reachable, ..Place::of(&row) });
            }
            places.entry(*place).or_insert(Place::NOWHERE);
        }
        Ok(Arc::new(Self { trees: self.trees.clone(), collections: all }))
    }

    /// Iterates over the sites that contain a place, the innermost first.
    pub(super) fn sites(&self, collection: Id, place: Id) -> impl Iterator<Item = Id> {
        let places = self.collections.get(&collection).map(|collection| &collection.places);
        let is_site = move |id: &Id| places.and_then(|places| places.get(id)).is_some_and(|place| place.is_site);
        self.upward(collection, place).filter(is_site)
    }

    /// Iterates over a place and everything above it, up to the root site.
    pub(super) fn upward(&self, collection: Id, place: Id) -> impl Iterator<Item = Id> {
        let places = self.collections.get(&collection).map(|collection| &collection.places);
        let parent = move |id: &Id| places?.get(id).map(|place| place.parent).filter(|parent| !parent.is_none());
        std::iter::successors(Some(place), parent).take(MAX_DEPTH + 1)
    }
}

fn read(reader: &mut Reader<'_>, collection: Id) -> model::Result<FxHashMap<Id, Place>> {
    let rows = feed::places(reader, collection)?;
    let mut places: FxHashMap<Id, Place> = rows.iter().map(|row| (row.id, Place::of(row))).collect();
    let mut known: FxHashMap<Id, bool> = FxHashMap::default();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_with_a_smaller_version_of_a_tree_are_older() {
        let places = |trees: &[(i64, i64)]| Places {
            trees: trees.iter().map(|(id, version)| (Id::new(*id), *version)).collect(),
            collections: trees
                .iter()
                .map(|(id, tree_version)| {
                    let tree = CollectionPlaces { tree_version: *tree_version, places: FxHashMap::default() };
                    (Id::new(*id), Arc::new(tree))
                })
                .collect(),
        };
        let (first, second) = (places(&[(1, 5), (2, 7)]), places(&[(1, 5), (2, 8)]));
        assert_eq!((first.is_older_than(&second), second.is_older_than(&first)), (true, false));
        assert!(!first.is_older_than(&first));
        assert!(!first.is_older_than(&places(&[])), "a site collection was deleted");
        assert!(!places(&[]).is_older_than(&first), "a site collection was created");
    }
}
