//! Entries and hits for the tests of the index.

use model::{Id, Timestamp};
use search::index::{Entry, Face, TopHits};

/// 2026-11-26.
pub const NOW: Timestamp = Timestamp::from_micros(1_795_730_400_000_000);

/// Returns an entry that everyone who may view place 2 finds.
pub fn entry(node: i64, name: &str, text: &str) -> Entry {
    Entry {
        node: Id::new(node),
        version: Id::new(node * 10),
        collection: Id::new(1),
        place: Id::new(2),
        face: Face::All,
        author: Id::new(7),
        editor: Id::new(8),
        holder: Id::NONE,
        checked_out_by: Id::NONE,
        created: NOW,
        modified: NOW,
        size: 1_000,
        name: name.to_owned(),
        title: String::new(),
        stated_author: String::new(),
        text: text.to_owned(),
        library: Id::new(3),
        values: Vec::new(),
        fault: None,
    }
}

/// Returns the documents found, in their order.
pub fn nodes(top: &TopHits) -> Vec<i64> {
    top.hits.iter().map(|hit| hit.node.get()).collect()
}
