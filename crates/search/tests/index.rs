//! The contract of the index: a view is one commit, what it finds depends on what the caller may find alone, and what
//! was committed is there after the index is opened again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ErrorKind, Id, Timestamp};
use search::index::{
    Admission, Candidate, Checkpoint, Clock, Entry, FORMAT, Fault, FollowedEvent, HitOrder, IndexWriter, NameRequest,
    PassageFinder, SearchIndex, TopHits, TopRequest, View,
};
use search::query::{SearchQuery, Tolerance};
use support::{NOW, nodes};

fn opened(place: &Path) -> Arc<SearchIndex> {
    Arc::new(SearchIndex::open(place).unwrap())
}

fn writer_of(index: &Arc<SearchIndex>) -> IndexWriter {
    IndexWriter::open(index.clone()).unwrap()
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn entry(node: i64, name: &str, text: &str) -> Entry {
    let at = Timestamp::from_micros(node);
    Entry { created: at, modified: at, size: text.len() as u64, ..support::entry(node, name, text) }
}

fn checkpoint(sequence: i64) -> Checkpoint {
    let newest = Some(FollowedEvent { sequence, at: 1, node: 2 });
    Checkpoint { format: FORMAT, sequence, newest, ..Checkpoint::default() }
}

/// Admits what a function says.
struct Only<F>(F);

impl<F: Fn(&Candidate<'_>) -> bool> Admission for Only<F> {
    fn admit(&self, entry: &Candidate<'_>) -> bool {
        (self.0)(entry)
    }
}

fn found(view: &View, query: &str, limit: usize) -> Vec<i64> {
    found_of(view, query, limit, |_| true)
}

fn parsed(query: &str) -> SearchQuery {
    SearchQuery::parse(query, NOW)
}

fn request(query: &SearchQuery) -> TopRequest<'_> {
    let (order, clock) = (HitOrder::Relevance, Clock::new(later()));
    TopRequest { query, tolerance: Tolerance::Exact, limit: 9, order, counts_facets: false, now: NOW, clock }
}

fn top_of(view: &View, request: TopRequest<'_>, admits: impl Fn(&Candidate<'_>) -> bool) -> TopHits {
    let top = view.top(&request, &Only(admits)).unwrap();
    assert!(top.whole);
    top
}

fn found_of(view: &View, query: &str, limit: usize, admits: impl Fn(&Candidate<'_>) -> bool) -> Vec<i64> {
    nodes(&top_of(view, TopRequest { limit, ..request(&parsed(query)) }, admits))
}

#[test]
fn documents_are_found_by_words_of_name_and_text() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    let mut writer = writer_of(&index);
    writer.replace(Id::new(1), &[entry(1, "Übersicht.txt", "Die Größe der Rohre")]).unwrap();
    writer.replace(Id::new(2), &[entry(2, "Plan Rohre.pdf", "Rohre")]).unwrap();
    assert!(found(&index.view(), "rohre", 9).is_empty(), "nothing is found before the commit");
    writer.commit(&checkpoint(5)).unwrap();
    let view = index.view();
    assert_eq!(view.len(), 2);
    assert_eq!(found(&view, "UBERSICHT groesse", 9), [1]);
    assert_eq!(found(&view, "ubersicht grosse", 9), [1]);
    assert_eq!(found(&view, "rohre", 9), [2, 1], "more and earlier words are better");
    assert_eq!(found(&view, "rohre", 1), [2]);
    assert_eq!(found(&view, "\"der rohre\"", 9), [1]);
    assert_eq!(found(&view, "\"txt die\"", 9), [] as [i64; 0], "no phrase goes from the name into the text");
    assert_eq!(found(&view, "rohre nothing", 9), [] as [i64; 0]);
    assert_eq!(found(&view, "...", 9), [] as [i64; 0]);

    writer.replace(Id::new(1), &[entry(1, "Übersicht.txt", "anderes")]).unwrap();
    writer.replace(Id::new(2), &[]).unwrap();
    writer.commit(&checkpoint(6)).unwrap();
    assert_eq!(found(&view, "rohre", 9), [2, 1], "a view stays as it was");
    assert_eq!(found(&index.view(), "rohre", 9), [] as [i64; 0]);
    assert_eq!(found(&index.view(), "anderes", 9), [1]);
}

#[test]
fn hidden_entries_do_not_affect_results() {
    let (alone, together) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (alone, together) = (opened(alone.path()), opened(together.path()));
    let (mut one, mut both) = (writer_of(&alone), writer_of(&together));
    for node in 0..300 {
        let text = format!("report {} {}", "word ".repeat(node as usize % 7), "long ".repeat(node as usize % 31));
        one.replace(Id::new(node), &[entry(node, "a.txt", &text)]).unwrap();
        both.replace(Id::new(node), &[entry(node, "a.txt", &text)]).unwrap();
        for hidden in 1..3 {
            let secret =
                Entry { place: Id::new(66), ..entry(node + hidden * 1_000, "report", "report report word word") };
            both.replace(secret.node, &[secret]).unwrap();
        }
        if node % 100 == 99 {
            one.commit(&checkpoint(node)).unwrap();
            both.commit(&checkpoint(node)).unwrap();
        }
    }
    let visible = |entry: &Candidate<'_>| entry.place() == Id::new(2);
    for query in ["report", "report word", "\"word word\"", "long report", "missing"] {
        for limit in [1, 10, 1_000] {
            let (expected, got) =
                (found(&alone.view(), query, limit), found_of(&together.view(), query, limit, visible));
            assert_eq!(got, expected, "{query}, {limit}");
        }
    }
}

#[test]
fn reopening_restores_the_last_commit() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    assert_eq!(index.view().checkpoint().walk, Some(0), "a new index has everything before it");
    let mut writer = writer_of(&index);
    writer.replace(Id::new(1), &[entry(1, "a", "one")]).unwrap();
    writer.commit(&checkpoint(3)).unwrap();
    writer.replace(Id::new(2), &[entry(2, "b", "one")]).unwrap();
    assert_eq!(
        IndexWriter::open(index.clone()).err().map(|error| error.kind()),
        Some(ErrorKind::Unavailable),
        "there is one writer"
    );
    drop(writer);
    drop(index);
    let index = opened(place.path());
    assert_eq!(*index.view().checkpoint(), checkpoint(3));
    assert_eq!(found(&index.view(), "one", 9), [1]);
    writer_of(&index).close().unwrap();
}

#[test]
fn an_unreadable_index_is_reported_as_corrupt() {
    let place = tempfile::tempdir().unwrap();
    for text in ["", "{}", "not an index"] {
        std::fs::write(place.path().join("meta.json"), text).unwrap();
        let error = SearchIndex::open(place.path()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{text:?}: {}", error.report());
    }
    let missing = SearchIndex::open(&place.path().join("missing")).err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::Unavailable, "{}", missing.report());
}

#[test]
fn passages_are_those_of_the_hit() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    let mut writer = writer_of(&index);
    let entries = [entry(1, "heron.txt", "a heron in the reeds"), entry(2, "heron.bin", "")];
    entries.iter().for_each(|entry| writer.replace(entry.node, std::slice::from_ref(entry)).unwrap());
    writer.commit(&checkpoint(1)).unwrap();
    let (view, query) = (index.view(), parsed("heron"));
    let hits = top_of(&view, request(&query), |_| true).hits;
    let mut finder = PassageFinder::new(&view, &query, Tolerance::Exact, Clock::new(later())).unwrap();
    let shown = hits.iter().map(|hit| finder.passage(hit).unwrap());
    let shown: Vec<Option<String>> =
        shown.map(|passage| Some(passage?.pieces.iter().map(|piece| piece.text.as_str()).collect())).collect();
    assert_eq!(hits.iter().map(|hit| hit.node.get()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(shown, [Some("a heron in the reeds".to_owned()), None]);
}

#[test]
fn a_search_ends_when_its_time_is_up_and_says_so() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    let mut writer = writer_of(&index);
    for node in 1..1_000 {
        writer.replace(Id::new(node), &[entry(node, "a.txt", "one two")]).unwrap();
    }
    writer.commit(&checkpoint(1)).unwrap();
    for query in ["one", "one two", "\"one two\"", "one \"one two\""] {
        let admits = Only(|_: &Candidate<'_>| true);
        let top = index
            .view()
            .top(&TopRequest { clock: Clock::new(Instant::now()), ..request(&parsed(query)) }, &admits)
            .unwrap();
        assert_eq!((top.hits.len(), top.whole), (0, false), "{query}");
        assert_eq!(found(&index.view(), query, 2_000).len(), 999, "{query}");
    }
}

#[test]
fn documents_that_cannot_be_read_are_listed_until_they_can() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    let mut writer = writer_of(&index);
    let fault = |code: &str| Some(Fault { code: code.to_owned(), reason: format!("it is {code}") });
    for node in 1..=6 {
        let code = if node % 2 == 0 { "not_readable" } else { "too_large" };
        writer.replace(Id::new(node), &[Entry { fault: fault(code), ..entry(node, "a.pdf", "") }]).unwrap();
        writer.replace(Id::new(node + 10), &[entry(node + 10, "b.txt", "well")]).unwrap();
        writer.commit(&checkpoint(node)).unwrap();
    }
    writer.replace(Id::new(5), &[entry(5, "a.pdf", "now readable")]).unwrap();
    writer.replace(Id::new(6), &[]).unwrap();
    writer.commit(&checkpoint(7)).unwrap();
    let view = index.view();
    let counts = view.fault_counts().unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("not_readable".to_owned(), 2), ("too_large".to_owned(), 2)]);
    let listed = |before, limit| {
        let faults = view.faults(before, limit, |_| true).unwrap();
        faults.iter().map(|faulty| faulty.node.get()).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, 10), [4, 3, 2, 1]);
    assert_eq!(listed(None, 2), [4, 3]);
    assert_eq!(listed(Some((Id::new(3), Id::new(30))), 2), [2, 1]);
    assert_eq!(listed(Some((Id::new(3), Id::new(31))), 2), [3, 2], "a page ends between two versions of a document");
    let too_large = view.faults(None, 10, |code| code == "too_large").unwrap();
    assert_eq!(too_large.iter().map(|faulty| faulty.node.get()).collect::<Vec<_>>(), [3, 1]);
    let first = view.faults(None, 1, |_| true).unwrap().remove(0);
    assert_eq!((first.version, first.fault), (Id::new(40), fault("not_readable").unwrap()));
}

#[test]
fn what_waits_to_be_read_is_known_for_each_document_and_admission() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    let mut writer = writer_of(&index);
    let waiting = |node, code| Entry { fault: Some(Fault::waiting(code)), ..entry(node, "a.pdf", "") };
    for (node, code) in [(1, Fault::WAITS_FOR_TEXT), (2, Fault::WAITS_FOR_RECOGNITION), (3, Fault::WAITS_FOR_TEXT)] {
        writer.replace(Id::new(node), &[waiting(node, code)]).unwrap();
    }
    writer.commit(&checkpoint(1)).unwrap();
    writer.replace(Id::new(3), &[entry(3, "a.pdf", "read")]).unwrap();
    writer.commit(&checkpoint(2)).unwrap();
    let view = index.view();
    assert_eq!(
        [1, 2, 3].map(|node| view.waits_for_text_of(Id::new(node), Id::new(node * 10)).unwrap()),
        [true, false, false]
    );
    assert!(!view.waits_for_text_of(Id::new(1), Id::new(11)).unwrap(), "another version does not wait");
    assert!(view.has_waiting(&Only(|_: &Candidate<'_>| true)).unwrap());
    assert!(!view.has_waiting(&Only(|entry: &Candidate<'_>| entry.node().get() != 1)).unwrap());
    let waits = view.faults(None, 10, |code| code == Fault::WAITS_FOR_TEXT).unwrap();
    assert_eq!(waits.iter().map(|waiting| waiting.node.get()).collect::<Vec<_>>(), [1]);
}

#[test]
fn names_are_found_by_any_part_of_them() {
    let place = tempfile::tempdir().unwrap();
    let index = opened(place.path());
    let mut writer = writer_of(&index);
    let names = ["Plan 2026.pdf", "Große Pläne.txt", "my plan.txt", "PLANUNG.docx", "anplan", "lanp", "東京の地図"];
    for (node, name) in (1..).zip(names) {
        writer.replace(Id::new(node), &[entry(node, name, "")]).unwrap();
    }
    writer.replace(Id::new(8), &[entry(8, "plan of another", "")]).unwrap();
    writer.commit(&checkpoint(1)).unwrap();
    writer.replace(Id::new(8), &[]).unwrap();
    writer.commit(&checkpoint(2)).unwrap();
    let view = index.view();
    let named = |parts: &[&str], limit, hidden: i64| {
        let parts: Vec<String> = parts.iter().map(|part| model::fold(part)).collect();
        let request = NameRequest { parts: &parts, beginning: &parts.join(" "), limit, clock: Clock::new(later()) };
        let found = view.named(&request, &Only(|entry: &Candidate<'_>| entry.node().get() != hidden)).unwrap();
        assert!(found.whole);
        (found.hits.iter().map(|hit| hit.node.get()).collect::<Vec<_>>(), found.more)
    };
    // Beginnings first, newest first.
    assert_eq!(named(&["plan"], 10, 0), (vec![4, 1, 5, 3], false));
    assert_eq!(named(&["plan"], 2, 0), (vec![4, 1], true));
    assert_eq!(named(&["plan"], 3, 4), (vec![1, 5, 3], false), "what is hidden takes no place");
    assert_eq!(named(&["plan", "pdf"], 10, 0), (vec![1], false));
    assert_eq!(named(&["GROSSE"], 10, 0), (vec![2], false));
    assert_eq!(named(&["n 2"], 10, 0), (vec![1], false));
    assert_eq!(named(&["京の"], 10, 0), (vec![7], false));
    assert_eq!(named(&["planp"], 10, 0), (vec![], false), "parts of a name follow each other");
}
