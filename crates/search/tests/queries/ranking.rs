//! Orders and counts, which do not depend on entries that are not admitted.

use std::collections::HashMap;

use model::{Id, Timestamp};
use search::index::HitOrder;
use search::query::{SearchQuery, Tolerance};

use crate::shelf::{DAY, InPlace, Shelf};
use crate::support::{NOW, entry, nodes};

#[test]
fn names_titles_rare_words_and_recent_changes_come_first() {
    let mut old = entry(1, "a.txt", "heron egret");
    old.modified = Timestamp::from_micros(NOW.micros() - 1_000 * DAY);
    let mut titled = entry(3, "c.txt", "heron is in it, and other words");
    titled.title = "Heron".to_owned();
    let entries = [old, entry(8, "b.txt", "heron egret"), titled, entry(2, "heron.txt", "some other words")];
    assert_eq!(Shelf::of(entries).found("heron"), [2, 3, 8, 1]);
    let common = (10..40).map(|node| entry(node, "x.txt", "common common rest"));
    let shelf = Shelf::of(common.chain([entry(1, "y.txt", "rare"), entry(50, "z.txt", "common")]));
    assert_eq!(shelf.found("rare OR common")[0], 1);
}

#[test]
fn hits_are_ordered_and_counted() {
    let mut first = entry(1, "a.pdf", "heron");
    (first.size, first.modified) = (5, Timestamp::from_micros(NOW.micros() - 400 * DAY));
    let mut second = entry(2, "b.PDF", "heron heron");
    (second.size, second.author) = (9, Id::new(9));
    let mut third = entry(3, "c", "heron");
    (third.size, third.modified, third.place) = (3, Timestamp::from_micros(NOW.micros() - DAY), Id::new(5));
    let shelf = Shelf::of([first, second, third]);
    let query = SearchQuery::parse("heron", NOW);
    let ordered = |order| nodes(&shelf.top(&query, Tolerance::Exact, order, &InPlace(None)));
    assert_eq!(ordered(HitOrder::Newest), [2, 3, 1]);
    assert_eq!(ordered(HitOrder::Oldest), [1, 3, 2]);
    assert_eq!(ordered(HitOrder::Largest), [2, 1, 3]);
    assert_eq!(ordered(HitOrder::Smallest), [3, 1, 2]);
    let top = shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None));
    assert_eq!(top.total, 3);
    let extensions: Vec<_> = top.facets.extensions.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(extensions, [("", 1), ("pdf", 2)]);
    assert_eq!(top.facets.authors, HashMap::from([(Id::new(7), 2), (Id::new(9), 1)]));
    assert_eq!(
        top.facets.years.iter().map(|(year, count)| (*year, *count)).collect::<Vec<_>>(),
        [(2025, 1), (2026, 2)]
    );
    assert_eq!(top.facets.places, HashMap::from([((Id::new(1), Id::new(2)), 2), ((Id::new(1), Id::new(5)), 1)]));
}

/// Two indexes, of which one has many entries more that are not admitted, answer alike.
#[test]
fn no_answer_depends_on_hidden_entries() {
    let words =
        ["heron", "herons", "egret", "contract", "contracts", "haftpflichtversicherung", "report", "the", "plan"];
    let mut seed = 7_u64;
    let mut next = move |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for node in 1..600 {
        let length = 1 + next(60);
        let text: Vec<&str> = (0..length).map(|_| words[next(words.len())]).collect();
        let mut made =
            entry(node, &format!("{} {node}.{}", words[next(words.len())], ["pdf", "txt"][next(2)]), &text.join(" "));
        (made.modified, made.author) =
            (Timestamp::from_micros(NOW.micros() - next(900) as i64 * DAY), Id::new(next(5) as i64));
        if next(2) == 0 {
            shown.push(made);
        } else {
            (made.place, made.text) = (Id::new(3), made.text.repeat(3));
            hidden.push(made);
        }
    }
    let alone = Shelf::of(shown.clone());
    let mut together = shown;
    together.extend(hidden);
    together.sort_by_key(|entry| entry.node);
    let together = Shelf::of(together);
    let queries = [
        "heron",
        "heron egret",
        "heron OR contract",
        "\"heron egret\"",
        "contrakt",
        "versicherung",
        "plan -report",
        "her*",
        "name:plan",
        "type:pdf heron",
        "size>1 NOT heron",
        "*",
        "the contract report",
        "modified:2025 egret",
        "nothing",
    ];
    for query in queries {
        let parsed = SearchQuery::parse(query, NOW);
        for tolerance in [Tolerance::Exact, Tolerance::Similar, Tolerance::MostWords] {
            for order in [HitOrder::Relevance, HitOrder::Newest, HitOrder::Largest] {
                let [one, other] =
                    [&alone, &together].map(|shelf| shelf.top(&parsed, tolerance, order, &InPlace(Some(2))));
                assert_eq!(nodes(&one), nodes(&other), "{query} {tolerance:?} {order:?}");
                assert_eq!((one.total, &one.facets), (other.total, &other.facets), "{query}");
            }
        }
    }
}

#[test]
fn the_closest_documents_come_first() {
    let mut titled = entry(1, "a.txt", "annual figures of the harbour, with a report on herons");
    titled.title = "Annual report of the harbour".into();
    let mut longer = entry(2, "b.txt", "harbour harbour annual annual report report of the");
    longer.title = "Notes on the annual report of the harbour and of the two ferries, second draft".into();
    let shelf = Shelf::of([longer, titled]);
    assert_eq!(shelf.found("annual report of the harbour"), [1, 2], "the title is the query");

    let scattered = "report report heron heron the nest; a nest in the reeds, and in the report on nests";
    let ordered = format!("{} the heron built its nest in the reeds {}", "words ".repeat(60), "words ".repeat(60));
    let shelf = Shelf::of([entry(1, "a.txt", scattered), entry(2, "b.txt", &ordered)]);
    assert_eq!(shelf.found("heron nest reeds"), [1, 2], "more often, in a shorter text");
    assert_eq!(shelf.found("nest in the reeds"), [1, 2], "both have it");
    let shelf = Shelf::of([entry(1, "a.txt", &scattered.replace("nest in", "nest with")), entry(2, "b.txt", &ordered)]);
    assert_eq!(shelf.found("nest in the reeds"), [2, 1], "the words follow each other");

    let named = ["Heron.txt", "Heron and egret.txt", "Heron, egret and other birds of the delta.txt"];
    let shelf = Shelf::of((1..).zip(named).map(|(node, name)| entry(node, name, "")));
    assert_eq!(shelf.found("heron"), [1, 2, 3]);
    assert_eq!(shelf.found("egret heron"), [2, 3]);
}
