//! What a caller may find, as a filter for the search server.

use std::collections::HashMap;

use model::Id;
use serde_json::{Value, json};

use super::bitmap::bitmap;
use super::document::state;
use super::view::SharedView;
use crate::index::admission::{Admission, ChangedDocument, PlaceAccess, PlaceKey};
use crate::index::clock::Clock;
use crate::query::Position;

/// What a caller may find in a view.
pub(super) struct AdmissionFilter {
    /// The filter.
    pub(super) filter: Value,
    /// Documents that changed since the index was committed.
    pub(super) changed: Vec<ChangedDocument>,
}

impl AdmissionFilter {
    /// Makes the filter. It must not be used when time is up: it ends early then.
    pub(super) fn of(view: &SharedView, admission: &dyn Admission, clock: &Clock) -> Self {
        let (caller, changed) = (admission.caller().get(), admission.changed());
        let (mut viewed, mut edited) = (Vec::new(), Vec::new());
        view.each_place(clock, |number, key| match admission.access(key) {
            PlaceAccess::None => {}
            PlaceAccess::View => viewed.push(number),
            PlaceAccess::ViewDrafts => {
                viewed.push(number);
                edited.push(number);
            }
        });
        let is_held = json!({"term": {"holder": caller}});
        let audience = |number: u64| json!({"term": {"face": number}});
        let sees_drafts = json!({"bool": {"should": [places(&edited), {"term": {"author": caller}}]}});
        let mut ways = vec![json!({"bool": {
            "filter": [places(&viewed), {"bool": {"should": [
                {"bool": {"filter": [audience(0)], "must_not": [is_held]}},
                {"bool": {"filter": [audience(1)], "must_not": [is_held, sees_drafts]}},
                {"bool": {"filter": [audience(2), sees_drafts], "must_not": [is_held]}},
                {"bool": {"filter": [audience(3), is_held]}},
            ]}}],
            "must_not": in_nodes(&changed),
        }})];
        let mut admitted = Self { filter: Value::Null, changed };
        let states = admitted.states(|_| true);
        if !states.is_empty() {
            let states: Vec<&String> = states.keys().collect();
            ways.push(json!({"terms": {"state": states}}));
        }
        admitted.filter = json!({"bool": {"should": ways}});
        admitted
    }

    /// Returns the states of changed entries that the caller may find and that fit where they were indexed, each with
    /// its site collection and its place now.
    pub(super) fn states(&self, fits: impl Fn(Position) -> bool) -> HashMap<String, (Id, Id)> {
        let mut states = HashMap::new();
        for document in &self.changed {
            for entry in document.entries.iter().filter(|entry| entry.is_admitted) {
                for library in entry.libraries.iter().copied() {
                    let (collection, place) = (entry.collection, entry.place);
                    if fits(Position { node: document.node, collection, place, library }) {
                        let state = state(entry.version, entry.audience, entry.holder, entry.name_print, library);
                        states.insert(state, (collection, place));
                    }
                }
            }
        }
        states
    }

    /// Returns a filter for changed documents.
    pub(super) fn is_changed(&self) -> Vec<Value> {
        in_nodes(&self.changed)
    }

    /// Returns a filter for entries at a position. It must not be used when time is up: it ends early then.
    pub(super) fn at(&self, view: &SharedView, clock: &Clock, fits: impl Fn(Position) -> bool) -> Value {
        let mut numbers = Vec::new();
        view.each_place(clock, |number, key| {
            let PlaceKey { collection, place, library } = *key;
            if fits(Position { node: Id::NONE, collection, place, library }) {
                numbers.push(number);
            }
        });
        let unchanged = json!({"bool": {"filter": [places(&numbers)], "must_not": self.is_changed()}});
        let states = self.states(fits);
        if states.is_empty() {
            return unchanged;
        }
        let states: Vec<&String> = states.keys().collect();
        json!({"bool": {"should": [unchanged, {"terms": {"state": states}}]}})
    }
}

fn places(numbers: &[u32]) -> Value {
    json!({"terms": {"spot": [bitmap(numbers)], "value_type": "bitmap"}})
}

fn in_nodes(changed: &[ChangedDocument]) -> Vec<Value> {
    if changed.is_empty() {
        return Vec::new();
    }
    let nodes: Vec<i64> = changed.iter().map(|document| document.node.get()).collect();
    vec![json!({"terms": {"node": nodes}})]
}
