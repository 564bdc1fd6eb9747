//! A search server that is broken or hostile: answers that are too long, incomplete or impossible, and refusals.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use model::{Error, ErrorKind, Id, Timestamp};
use serde_json::{Value, json};

use super::clauses::clauses;
use super::fake::{Fake, Request};
use super::generations::SharedGenerations;
use super::index::SharedIndex;
use super::limits::Limits;
use super::mapping::SCHEMA;
use super::writer::SharedWriter;
use crate::index::admission::{Admission, PlaceAccess, PlaceKey};
use crate::index::checkpoint::{Checkpoint, Gap};
use crate::index::clock::Clock;
use crate::index::entry::{Audience, Entry};
use crate::index::local::Candidate;
use crate::index::top::{HitOrder, TopRequest};
use crate::query::{Expression, Filter, SearchQuery, Tolerance, ValueCondition, ValuesFilter, Within};

const SOON: Duration = Duration::from_secs(20);
/// Bytes that may wait in buffers of the system.
const BUFFERS: usize = 16 << 20;

/// Returns an answer to a request for the checkpoint.
fn checkpoint(checkpoint: &Checkpoint, places: u64) -> String {
    let text = serde_json::to_string(checkpoint).unwrap();
    let source = json!({"schema": SCHEMA, "checkpoint": text, "epoch": 3, "spots": places});
    json!({"_index": "it", "_seq_no": 1, "_primary_term": 1, "_source": source}).to_string()
}

fn hits(hits: &[Value]) -> String {
    json!({"timed_out": false, "_shards": {"failed": 0, "successful": 1}, "hits": {"hits": hits}}).to_string()
}

fn place(number: u64) -> Value {
    json!({"fields": {"number": [number], "collection": [1], "place": [number + 1], "library": [0]}})
}

/// Returns the number from which places are asked for.
fn first_place(request: &Request) -> Option<u64> {
    let asked: Value = serde_json::from_str(&request.body).ok()?;
    asked["query"]["range"]["number"]["gte"].as_u64()
}

/// Answers as a server with an empty index does.
fn usual(request: &Request) -> (u16, String) {
    let text = if request.line.contains("_doc/checkpoint") && request.line.starts_with("GET") {
        checkpoint(&Checkpoint::of_empty_index(), 0)
    } else if request.line.contains("_doc/checkpoint") {
        json!({"_seq_no": 2, "_primary_term": 1}).to_string()
    } else {
        hits(&[])
    };
    (200, text)
}

/// Opens the index of a server that answers like this.
fn opened(answer: impl Fn(&Request) -> (u16, String) + Send + Sync + 'static) -> (Fake, Result<SharedIndex, Error>) {
    let fake = Fake::new(answer);
    let index = SharedIndex::open(&fake.server, "it");
    (fake, index)
}

fn entry(node: i64, text: &str) -> Entry {
    Entry {
        kind: crate::index::entry::EntryKind::Document,
        node: Id::new(node),
        version: Id::new(node * 10),
        collection: Id::new(1),
        place: Id::new(2),
        audience: Audience::All,
        author: Id::new(5),
        editor: Id::new(5),
        holder: Id::NONE,
        checked_out_by: Id::NONE,
        created: Timestamp::from_micros(0),
        modified: Timestamp::from_micros(0),
        size: 1,
        name: format!("{node}.txt"),
        title: String::new(),
        stated_author: String::new(),
        text: text.to_owned(),
        library: Id::new(3),
        values: Vec::new(),
        fault: None,
    }
}

#[test]
fn an_answer_is_read_up_to_its_limit() {
    let fake = Fake::new(|_| (200, format!("{{\"a\":\"{}\"}}", "x".repeat(100 << 20))));
    let all = [
        Limits::short(SOON),
        Limits::checkpoint(SOON),
        Limits::hits(SOON, 100, 0),
        Limits::actions(SOON, 10),
        Limits::texts(SOON, 2),
    ];
    for limits in all {
        let before = fake.sent();
        let asked = fake.server.ask::<Value>(hyper::Method::GET, "/it", None, limits);
        assert_eq!(asked.unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(limits.bytes < 4 << 20 && fake.sent() - before < limits.bytes + BUFFERS, "{limits:?}");
    }
    let refusal = Fake::new(|_| (500, "x".repeat(100 << 20)));
    let asked = refusal.server.ask::<Value>(hyper::Method::GET, "/it", None, Limits::hits(SOON, 10_000, 40_000));
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(refusal.sent() < BUFFERS);
}

#[test]
fn types_of_errors_are_shown_in_part() {
    let kind = format!("a\u{1b}[1m{}", "b".repeat(200));
    let fake = Fake::new(move |_| (500, json!({"error": {"type": kind}}).to_string()));
    let error = fake.server.ask::<Value>(hyper::Method::GET, "/it", None, Limits::short(SOON)).unwrap_err();
    assert!(error.message().ends_with(&format!("500, a1m{}", "b".repeat(61))), "{error}");
}

#[test]
fn wide_answers_are_not_kept() {
    let wide = |member: &str| format!("{{\"timed_out\":false,\"_shards\":{{\"failed\":0}},{member}}}");
    let many = vec!["{\"\":0}"; 100_000].join(",");
    let cases = [
        (format!("\"hits\":{{\"hits\":[{many}]}}"), false),
        (format!("\"hits\":{{\"hits\":[]}},\"aggregations\":{{\"a\":{{\"buckets\":[{many}]}}}}"), false),
        (format!("\"hits\":{{\"hits\":[]}},\"other\":[{many}]"), true),
    ];
    for (member, is_read) in cases {
        let text = wide(&member);
        let (_fake, index) =
            opened(
                move |request| {
                    if request.body.contains("\"faults\"") { (200, text.clone()) } else { usual(request) }
                },
            );
        let counted = index.unwrap().view().fault_counts();
        assert_eq!(counted.map_err(|error| error.kind()).err(), (!is_read).then_some(ErrorKind::Unavailable));
    }
}

#[test]
fn pages_of_places_have_an_end() {
    let (fake, index) = opened(|request| match first_place(request) {
        Some(first) => (200, hits(&(first..first + 10_000).map(place).collect::<Vec<_>>())),
        None => (200, checkpoint(&Checkpoint::of_empty_index(), 25_000)),
    });
    assert_eq!(index.unwrap().view().places().len(), 30_000);
    assert_eq!(fake.requests().iter().filter(|request| first_place(request).is_some()).count(), 3);
}

#[test]
fn pages_of_entries_have_an_end() {
    // The same page again and again.
    let page: Vec<Value> = vec![json!({"sort": [1, 0], "fields": {"node": [1], "version": [10], "face": [0]}}); 10_000];
    let (fake, index) =
        opened(move |request| if request.body.contains("\"face\"") { (200, hits(&page)) } else { usual(request) });
    let error = index.unwrap().view().entry_of(Id::new(1), Id::new(11)).unwrap_err();
    assert_eq!((error.kind(), fake.requests().len()), (ErrorKind::Unavailable, 3));
}

#[test]
fn incomplete_answers_do_not_damage_an_index() {
    for (timed_out, failed, kind) in
        [(true, 0, ErrorKind::Unavailable), (false, 1, ErrorKind::Unavailable), (false, 0, ErrorKind::Corrupt)]
    {
        let (_fake, index) = opened(move |request| match first_place(request) {
            Some(_) => {
                let shards = json!({"failed": failed, "successful": 1 - failed});
                (200, json!({"timed_out": timed_out, "_shards": shards, "hits": {"hits": []}}).to_string())
            }
            None => (200, checkpoint(&Checkpoint::of_empty_index(), 1)),
        });
        assert_eq!(index.err().unwrap().kind(), kind);
    }
    let (_fake, index) = opened(|request| match request.line.contains("_count") {
        true => (200, json!({"count": 0, "_shards": {"failed": 1}}).to_string()),
        false => usual(request),
    });
    assert_eq!(index.unwrap().view().len().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn impossible_checkpoints_are_damage() {
    let gaps = vec![Gap { sequence: 1, since: 0 }; 10_001];
    let wrong = [
        (Checkpoint { sequence: -1, ..Checkpoint::of_empty_index() }, 0),
        (Checkpoint { sequence: i64::MAX, ..Checkpoint::of_empty_index() }, 0),
        (Checkpoint { sequence: 5, gaps, ..Checkpoint::of_empty_index() }, 0),
        (Checkpoint::of_empty_index(), u64::MAX),
    ];
    for (wrong, places) in wrong {
        let (_fake, index) = opened(move |_| (200, checkpoint(&wrong, places)));
        assert_eq!(index.err().unwrap().kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn a_text_that_is_not_returned_is_not_gone() {
    let wanted = [(Id::new(1), Id::new(10), Audience::All)];
    for (docs, is_gone) in [
        (json!([{"_id": "1-0", "found": false}]), true),
        (json!([{"error": {"type": "x"}}]), false),
        (json!([]), false),
    ] {
        let text = json!({"docs": docs}).to_string();
        let (_fake, index) =
            opened(move |request| if request.line.contains("_mget") { (200, text.clone()) } else { usual(request) });
        let kept = index.unwrap().view().kept(&wanted, &Clock::new(Instant::now() + SOON));
        assert_eq!(kept.map_err(|error| error.kind()).err(), (!is_gone).then_some(ErrorKind::Unavailable));
    }
}

/// Returns what becomes of the actions in a request, all with this status.
fn outcomes(request: &Request, status: u16) -> String {
    let item = |line: &str| {
        let action: Value = serde_json::from_str(line).ok()?;
        let kind = ["index", "delete", "create"].into_iter().find(|kind| action[kind]["_id"].is_string())?;
        let status = match (kind, status) {
            ("create", _) => 201,
            ("delete", _) => 404,
            _ => status,
        };
        Some(json!({kind: {"status": status, "error": {"type": "some_exception"}}}))
    };
    json!({"items": request.body.lines().filter_map(item).collect::<Vec<_>>()}).to_string()
}

fn writer(answer: impl Fn(&Request) -> (u16, String) + Send + Sync + 'static) -> (Fake, SharedWriter) {
    let (fake, index) =
        opened(move |request| if request.line.contains("_bulk") { answer(request) } else { usual(request) });
    let writer = SharedWriter::open(Arc::new(index.unwrap())).unwrap();
    (fake, writer)
}

#[test]
fn only_faults_of_an_entry_are_passed_over() {
    let written = |status| {
        let (_fake, mut writer) = writer(move |request| (200, outcomes(request, status)));
        writer.replace(Id::new(7), &[entry(7, "a heron")]).unwrap();
        writer.commit(&Checkpoint::of_empty_index()).map_err(|error| error.kind())
    };
    for status in [200, 201, 400, 413] {
        assert_eq!(written(status), Ok(()), "{status}");
    }
    for status in [401, 403, 404, 408, 409, 410, 422, 499, 500, 507, 0] {
        assert_eq!(written(status), Err(ErrorKind::Unavailable), "{status}");
    }
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (_fake, mut writer) = writer(move |request| {
        let is_first = request.body.contains("\"index\"") && asked.fetch_add(1, Ordering::Relaxed) == 0;
        (200, outcomes(request, if is_first { 429 } else { 201 }))
    });
    writer.replace(Id::new(7), &[entry(7, "a heron")]).unwrap();
    writer.commit(&Checkpoint::of_empty_index()).unwrap();
}

#[test]
fn answers_that_do_not_fit_a_request_are_no_success() {
    for items in [json!([]), json!([{"index": {"status": 201}}]), json!([{"x": {"status": 201}}]), json!(7)] {
        let (_fake, mut writer) = writer(move |_| (200, json!({"items": items}).to_string()));
        writer.replace(Id::new(7), &[entry(7, "a heron")]).unwrap();
        let error = writer.commit(&Checkpoint::of_empty_index()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}

#[test]
fn requests_that_are_too_large_are_sent_in_parts() {
    let (fake, mut writer) =
        writer(
            |request| {
                if request.body.len() > 8_000 { (413, "<html>".to_owned()) } else { (200, outcomes(request, 201)) }
            },
        );
    let long: String = (0..5_000).map(|number| format!("word{number} ")).collect();
    for node in 1..=40 {
        writer.replace(Id::new(node), &[entry(node, if node == 20 { &long } else { "a heron" })]).unwrap();
    }
    writer.commit(&Checkpoint::of_empty_index()).unwrap();
    let requests = fake.requests();
    let taken = requests.iter().filter(|request| request.line.contains("_bulk") && request.body.len() <= 8_000);
    let mut stored = HashMap::new();
    for request in taken {
        let lines: Vec<&str> = request.body.lines().collect();
        for pair in lines.windows(2) {
            let action: Value = serde_json::from_str(pair[0]).unwrap();
            if let Some(id) = action["index"]["_id"].as_str() {
                let fields: Value = serde_json::from_str(pair[1]).unwrap();
                assert!(stored.insert(id.to_owned(), fields).is_none(), "{id} was stored twice");
            }
        }
    }
    assert_eq!(stored.len(), 40, "later documents are indexed");
    let short = &stored["20-0"];
    assert_eq!((short["fault"].as_str(), short["body"].as_str()), (Some("too_large"), Some("")));
    assert_eq!(short["text"].as_array().map(Vec::len), Some(1), "the name is still found");
    assert!(stored["21-0"]["fault"].is_null() && stored["21-0"]["text"].as_array().map(Vec::len) == Some(2));
}

#[test]
fn a_server_that_takes_nothing_is_told() {
    let (_fake, mut writer) = writer(|_| (413, String::new()));
    writer.replace(Id::new(7), &[entry(7, "a heron")]).unwrap();
    let error = writer.commit(&Checkpoint::of_empty_index()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[test]
fn the_alias_changes_over_in_one_step() {
    let fake = Fake::new(|_| (200, json!({"acknowledged": true}).to_string()));
    let generations = SharedGenerations::new(fake.server.clone(), Id::new(1), None, Id::new(2));
    generations.publish(Id::new(9)).unwrap();
    let requests = fake.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    let asked: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(
        asked["actions"],
        json!([
            {"remove": {"index": "fake-1-2-*", "alias": "fake-1-2"}},
            {"add": {"index": "fake-1-2-building-9", "alias": "fake-1-2"}},
        ])
    );
}

/// May view everything.
struct Everything(AtomicUsize);

impl Admission for Everything {
    fn admit(&self, _: &Candidate<'_>) -> bool {
        true
    }

    fn caller(&self) -> Id {
        Id::new(5)
    }

    fn access(&self, _: &PlaceKey) -> PlaceAccess {
        self.0.fetch_add(1, Ordering::Relaxed);
        PlaceAccess::View
    }
}

/// Searches in an index with 10,000 places. Returns the bodies of the searches, and whether everything was searched.
fn searched(expression: Expression, deadline: Instant) -> (Vec<Value>, bool, usize) {
    let (fake, index) = opened(|request| match first_place(request) {
        Some(first) => (200, hits(&(first..10_000).map(place).collect::<Vec<_>>())),
        None if request.line.contains("_search") => (200, hits(&[])),
        None => (200, checkpoint(&Checkpoint::of_empty_index(), 10_000)),
    });
    let view = index.unwrap().view();
    let before = fake.requests().len();
    let query = SearchQuery { expression: Some(expression), ..SearchQuery::default() };
    let request = TopRequest {
        query: &query,
        tolerance: Tolerance::Exact,
        limit: 10,
        order: HitOrder::Newest,
        counts_facets: false,
        now: Timestamp::from_micros(0),
        clock: Clock::new(deadline),
    };
    let everything = Everything(AtomicUsize::new(0));
    let whole = view.top(&request, &everything).unwrap().whole;
    let bodies = fake.requests()[before..].iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    (bodies, whole, everything.0.load(Ordering::Relaxed))
}

#[test]
fn conditions_on_columns_of_many_libraries_are_few_clauses() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let is_current = Within(Arc::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        true
    }));
    let filter = |condition: &dyn Fn(u64) -> ValueCondition, count: i64| {
        let conditions = (1..=count).map(|column| (Id::new(column), condition(column as u64))).collect();
        Expression::Filter(Filter::Values(ValuesFilter { conditions, is_current: is_current.clone() }))
    };
    let later = || Instant::now() + SOON;
    let keys = |_| ValueCondition::OneOf((0..50).collect());
    let word = SearchQuery::parse("Überprüfung", Timestamp::from_micros(0)).expression.unwrap();
    let words = move |_| ValueCondition::Words(word.clone());
    let (bodies, whole, _) = searched(Expression::All(vec![filter(&keys, 200), filter(&words, 200)]), later());
    assert!(whole && bodies.iter().map(clauses_of).max() < Some(40), "{bodies:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 10_000, "places are compared once for both");
    // Each range is a clause of its own.
    let range = |number| ValueCondition::Between(number..number + 1);
    let (bodies, whole, _) = searched(filter(&range, 200), later());
    assert!(whole && bodies.iter().map(clauses_of).max() < Some(250));
    for negated in [false, true] {
        let many = filter(&range, 3_000);
        let many = if negated { Expression::Not(Box::new(many)) } else { many };
        let (bodies, whole, _) = searched(many, later());
        assert!(!whole && !bodies.is_empty() && bodies.iter().map(clauses_of).max() < Some(1_000), "{negated}");
    }
}

fn clauses_of(body: &Value) -> usize {
    clauses(&body["query"])
}

#[test]
fn a_search_whose_time_is_up_asks_nothing() {
    let (bodies, whole, looked_at) = searched(Expression::Everything, Instant::now());
    assert_eq!((bodies.len(), whole, looked_at), (0, false, 0));
}
