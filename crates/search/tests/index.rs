//! The contract of the index: a view is one commit, what it finds depends on what the caller may find alone, and what
//! was committed is there after the index is opened again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ErrorKind, Id, Timestamp};
use search::index::{
    Admission, Candidate, Checkpoint, Clock, Entry, FORMAT, Fault, FollowedEvent, HitOrder, IndexWriter, NameRequest,
    PassageFinder, PlaceAccess, PlaceKey, SearchIndex, TopHits, TopRequest, View, WantedFaults,
};
use search::query::{SearchQuery, Tolerance};
use support::{Home, NOW, nodes};

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

/// Admits the places that a function admits.
struct Only<F>(F);

impl<F: Fn(Id) -> bool> Admission for Only<F> {
    fn admit(&self, entry: &Candidate<'_>) -> bool {
        (self.0)(entry.place())
    }

    fn caller(&self) -> Id {
        Id::new(1)
    }

    fn access(&self, key: &PlaceKey) -> PlaceAccess {
        if (self.0)(key.place) { PlaceAccess::ViewDrafts } else { PlaceAccess::None }
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

fn top_of(view: &View, request: TopRequest<'_>, admits: impl Fn(Id) -> bool) -> TopHits {
    let top = view.top(&request, &Only(admits)).unwrap();
    assert!(top.whole);
    top
}

fn found_of(view: &View, query: &str, limit: usize, admits: impl Fn(Id) -> bool) -> Vec<i64> {
    nodes(&top_of(view, TopRequest { limit, ..request(&parsed(query)) }, admits))
}

#[test]
fn documents_are_found_by_words_of_name_and_text() {
    let home = Home::new();
    let index = home.open();
    let mut writer = writer_of(&index);
    writer.replace(Id::new(1), &[entry(1, "Übersicht.txt", "Die Größe der Rohre")]).unwrap();
    writer.replace(Id::new(2), &[entry(2, "Plan Rohre.pdf", "Rohre")]).unwrap();
    assert!(found(&index.view(), "rohre", 9).is_empty(), "nothing is found before the commit");
    writer.commit(&checkpoint(5)).unwrap();
    let view = index.view();
    assert_eq!(view.entries().unwrap(), 2);
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
    if !home.is_shared() {
        assert_eq!(found(&view, "rohre", 9), [2, 1], "a view stays as it was");
    }
    assert_eq!(found(&index.view(), "rohre", 9), [] as [i64; 0]);
    assert_eq!(found(&index.view(), "anderes", 9), [1]);
}

#[test]
fn hidden_entries_do_not_affect_results() {
    let (alone, together) = (Home::new(), Home::new());
    let (alone, together) = (alone.open(), together.open());
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
    let visible = |place: Id| place == Id::new(2);
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
    let home = Home::new();
    let index = home.open();
    assert_eq!(index.view().checkpoint().walk, Some(0), "a new index has everything before it");
    let mut writer = writer_of(&index);
    writer.replace(Id::new(1), &[entry(1, "a", "one")]).unwrap();
    writer.commit(&checkpoint(3)).unwrap();
    writer.replace(Id::new(2), &[entry(2, "b", "one")]).unwrap();
    let other = IndexWriter::open(index.clone());
    if home.is_shared() {
        drop(other.unwrap());
    } else {
        let refused = other.err().map(|error| error.kind());
        assert_eq!(refused, Some(ErrorKind::Unavailable), "there is one writer");
    }
    drop(writer);
    drop(index);
    let index = home.open();
    assert_eq!(*index.view().checkpoint(), checkpoint(3));
    assert_eq!(found(&index.view(), "one", 9), [1]);
    writer_of(&index).close().unwrap();
}

/// A process that lost the right to write, and does not know it yet, changes nothing that its successor wrote.
#[test]
fn a_later_writer_takes_a_shared_index_over() {
    let home = Home::new();
    if !home.is_shared() {
        return;
    }
    let index = home.open();
    let mut early = writer_of(&index);
    early.replace(Id::new(1), &[Entry { place: Id::new(4), ..entry(1, "a", "early") }]).unwrap();
    early.commit(&checkpoint(1)).unwrap();
    let mut late = writer_of(&home.open());
    late.replace(Id::new(1), &[entry(1, "a", "late")]).unwrap();
    late.replace(Id::new(2), &[]).unwrap();
    late.commit(&checkpoint(2)).unwrap();
    for (node, place) in [(1, 4), (2, 4), (1, 5)] {
        early.replace(Id::new(node), &[Entry { place: Id::new(place), ..entry(node, "a", "early") }]).unwrap();
        assert_eq!(early.commit(&checkpoint(3)).unwrap_err().kind(), ErrorKind::Unavailable, "{node} {place}");
    }
    late.replace(Id::new(3), &[Entry { place: Id::new(6), ..entry(3, "a", "late") }]).unwrap();
    late.commit(&checkpoint(3)).unwrap();
    let view = home.open().view();
    assert_eq!((found(&view, "early", 9), found(&view, "late", 9)), (vec![], vec![3, 1]));
    assert_eq!(found_of(&view, "late", 9, |place| place == Id::new(6)), [3]);
    assert_eq!(*view.checkpoint(), checkpoint(3));
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
    let home = Home::new();
    let index = home.open();
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
    let home = Home::new();
    let index = home.open();
    let mut writer = writer_of(&index);
    for node in 1..1_000 {
        writer.replace(Id::new(node), &[entry(node, "a.txt", "one two")]).unwrap();
    }
    writer.commit(&checkpoint(1)).unwrap();
    for query in ["one", "one two", "\"one two\"", "one \"one two\""] {
        let admits = Only(|_| true);
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
    let home = Home::new();
    let index = home.open();
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
        let faults = view.faults(before, limit, WantedFaults::Final).unwrap();
        faults.iter().map(|faulty| faulty.node.get()).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, 10), [4, 3, 2, 1]);
    assert_eq!(listed(None, 2), [4, 3]);
    assert_eq!(listed(Some((Id::new(3), Id::new(30))), 2), [2, 1]);
    assert_eq!(listed(Some((Id::new(3), Id::new(31))), 2), [3, 2], "a page ends between two versions of a document");
    let too_large = view.faults(None, 10, WantedFaults::Codes(&["too_large"])).unwrap();
    assert_eq!(too_large.iter().map(|faulty| faulty.node.get()).collect::<Vec<_>>(), [3, 1]);
    let first = view.faults(None, 1, WantedFaults::Final).unwrap().remove(0);
    assert_eq!((first.version, first.fault), (Id::new(40), fault("not_readable").unwrap()));
}

#[test]
fn what_waits_to_be_read_is_known_for_each_document_and_admission() {
    let home = Home::new();
    let index = home.open();
    let mut writer = writer_of(&index);
    let waiting =
        |node, code| Entry { place: Id::new(node), fault: Some(Fault::waiting(code)), ..entry(node, "a.pdf", "") };
    for (node, code) in [(1, Fault::WAITS_FOR_TEXT), (2, Fault::WAITS_FOR_RECOGNITION), (3, Fault::WAITS_FOR_TEXT)] {
        writer.replace(Id::new(node), &[waiting(node, code)]).unwrap();
    }
    writer.commit(&checkpoint(1)).unwrap();
    writer.replace(Id::new(3), &[entry(3, "a.pdf", "read")]).unwrap();
    writer.commit(&checkpoint(2)).unwrap();
    let (view, clock) = (index.view(), Clock::new(later()));
    assert_eq!(
        [1, 2, 3].map(|node| view.waits_for_text_of(Id::new(node), Id::new(node * 10), &clock).unwrap()),
        [true, false, false]
    );
    assert!(!view.waits_for_text_of(Id::new(1), Id::new(11), &clock).unwrap(), "another version does not wait");
    assert!(view.has_waiting(&Only(|_| true), &clock).unwrap());
    assert!(!view.has_waiting(&Only(|place: Id| place.get() != 1), &clock).unwrap());
    let waits = view.faults(None, 10, WantedFaults::Codes(&[Fault::WAITS_FOR_TEXT])).unwrap();
    assert_eq!(waits.iter().map(|waiting| waiting.node.get()).collect::<Vec<_>>(), [1]);
}

#[test]
fn words_of_a_phrase_may_have_others_between_them() {
    let home = Home::new();
    let index = home.open();
    let mut writer = writer_of(&index);
    writer.replace(Id::new(1), &[entry(1, "a.txt", "one two three four five six")]).unwrap();
    writer.replace(Id::new(2), &[entry(2, "b.txt", &"cat cat cat dog dog dog ".repeat(30_000))]).unwrap();
    writer.commit(&checkpoint(1)).unwrap();
    let view = index.view();
    let none = [] as [i64; 0];
    assert_eq!(found(&view, "\"one four six\"~3", 9), [1]);
    assert_eq!(found(&view, "\"one four six\"~2", 9), none);
    assert_eq!(found(&view, "\"two one\"~2", 9), [1], "two words may be swapped");
    assert_eq!(found(&view, "\"two one\"~1", 9), none);
    assert_eq!(found(&view, "two -\"one three\"~1", 9), none);
    if !home.is_shared() {
        // Words that repeat have very many ways to follow each other.
        let often = format!("\"{}\"~50", "cat dog ".repeat(12));
        assert_eq!(found(&view, &often, 9), [2]);
        assert_eq!(found_of(&view, &often, 9, |_| false), none);
    }
}

#[test]
fn names_are_found_by_any_part_of_them() {
    let home = Home::new();
    let index = home.open();
    let mut writer = writer_of(&index);
    let names = ["Plan 2026.pdf", "Große Pläne.txt", "my plan.txt", "PLANUNG.docx", "anplan", "lanp", "東京の地図"];
    for (node, name) in (1..).zip(names) {
        writer.replace(Id::new(node), &[Entry { place: Id::new(node), ..entry(node, name, "") }]).unwrap();
    }
    writer.replace(Id::new(8), &[entry(8, "plan of another", "")]).unwrap();
    writer.commit(&checkpoint(1)).unwrap();
    writer.replace(Id::new(8), &[]).unwrap();
    writer.commit(&checkpoint(2)).unwrap();
    let view = index.view();
    let named = |parts: &[&str], limit, hidden: i64| {
        let parts: Vec<String> = parts.iter().map(|part| model::fold(part)).collect();
        let request = NameRequest { parts: &parts, beginning: &parts.join(" "), limit, clock: Clock::new(later()) };
        let found = view.named(&request, &Only(|place: Id| place.get() != hidden)).unwrap();
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

#[test]
fn the_longest_queries_are_answered() {
    let words: Vec<String> = (0..40).map(|number| format!("größe{}", char::from(b'a' + number % 26))).collect();
    let text = words.join(" ");
    let home = Home::new();
    let index = home.open();
    let mut writer = writer_of(&index);
    let entries = [entry(1, "a.txt", &text), entry(2, "größe.txt", "größen")];
    entries.iter().for_each(|entry| writer.replace(entry.node, std::slice::from_ref(entry)).unwrap());
    writer.commit(&checkpoint(1)).unwrap();
    let digits = text.replace(' ', "7 ");
    let alternatives = format!("({})", text.replace(' ', " OR "));
    for query in [&text, &format!("\"{text}\""), &digits, &alternatives, &"a ".repeat(900)] {
        let query = parsed(query);
        for tolerance in [Tolerance::Exact, Tolerance::Similar, Tolerance::MostWords] {
            top_of(&index.view(), TopRequest { tolerance, ..request(&query) }, |_| true);
        }
    }
    assert_eq!(found(&index.view(), &text, 9), [1]);
}
