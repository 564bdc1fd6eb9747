//! Entries and hits for the tests of the index, and documents for those of the readers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]
#![allow(dead_code, reason = "not every test program uses all of it")]

use std::collections::HashSet;
use std::io::{Cursor, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use model::{Id, Timestamp};
use search::index::{
    Audience, ChangedDocument, Entry, EntryKind, SearchIndex, SearchServer, SharedGenerations, TopHits, ValidEntry,
    name_print,
};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Names the search server on which the same tests run as in a directory. Without it, they run in a directory.
const SERVER: &str = "RIG_OPENSEARCH";

/// Where an index is.
pub enum Home {
    /// In a directory.
    Directory(tempfile::TempDir),
    /// On a search server.
    Server(SharedGenerations),
}

impl Home {
    /// Makes a place for one index.
    pub fn new() -> Self {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        let Ok(url) = std::env::var(SERVER) else { return Self::Directory(tempfile::tempdir().unwrap()) };
        let server = SearchServer::new(&url, &format!("test-{}", std::process::id()), None, None).unwrap();
        let generations =
            SharedGenerations::new(server, Id::new(1), None, Id::new(NEXT.fetch_add(1, Ordering::Relaxed)));
        Self::Server(generations)
    }

    /// Opens the index, which is empty at first.
    pub fn open(&self) -> Arc<SearchIndex> {
        Arc::new(match self {
            Self::Directory(place) => SearchIndex::open(place.path()).unwrap(),
            Self::Server(generations) => {
                let name = generations.current().unwrap().unwrap_or_else(|| generations.begin().unwrap());
                SearchIndex::open_shared(generations, Some(&name)).unwrap()
            }
        })
    }

    /// Returns whether it is on a search server.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}

/// Returns a document that changed, but whose entry is still valid.
pub fn valid(entry: &Entry) -> ChangedDocument {
    let valid = ValidEntry {
        version: entry.version,
        audience: entry.audience,
        holder: entry.holder,
        name_print: name_print(&entry.name),
        collection: entry.collection,
        place: entry.place,
        is_admitted: true,
        libraries: HashSet::from([Id::NONE]),
    };
    ChangedDocument { node: entry.node, entries: vec![valid] }
}

/// 2026-11-26.
pub const NOW: Timestamp = Timestamp::from_micros(1_795_730_400_000_000);

/// Returns an entry that everyone who may view place 2 finds.
pub fn entry(node: i64, name: &str, text: &str) -> Entry {
    Entry {
        kind: EntryKind::Document,
        node: Id::new(node),
        version: Id::new(node * 10),
        collection: Id::new(1),
        place: Id::new(2),
        audience: Audience::All,
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

/// Returns a ZIP archive of these files.
pub fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
