//! Filters: properties, values of columns, people and states.

use std::collections::HashMap;
use std::sync::Arc;

use model::{ColumnKind, ColumnValue, Id, Timestamp};
use search::index::{Audience, Entry, EntryKind, HitOrder};
use search::query::{
    CheckOuts, Expression, Filter, KnownColumns, QueryWord, Reference, SearchQuery, Sought, Tolerance, ValuesFilter,
    Within, WordField,
};

use crate::shelf::{Changed, DAY, ENGLISH, GERMAN, InPlace, Shelf};
use crate::support::{NOW, entry, nodes, valid};

#[test]
fn filters_decide_by_properties() {
    let mut report = entry(1, "Report.PDF", "heron");
    (report.size, report.modified, report.title) =
        (20 << 20, Timestamp::from_micros(NOW.micros() - 10 * DAY), "Year".into());
    let mut sheet = entry(2, "sheet.xlsx", "heron");
    (sheet.author, sheet.place, sheet.stated_author) = (Id::new(9), Id::new(5), "Anna Berg".into());
    let mut plain = entry(3, "no extension", "heron");
    plain.created = Timestamp::from_micros(NOW.micros() - 800 * DAY);
    let shelf = Shelf::of([report, sheet, plain]);
    assert_eq!(shelf.set("heron type:pdf"), [1]);
    assert_eq!(shelf.set("type:excel"), [2]);
    assert_eq!(shelf.set("type:(pdf OR excel)"), [1, 2]);
    assert_eq!(shelf.set("-type:pdf"), [2, 3]);
    assert_eq!(shelf.set("type:nothing"), [] as [i64; 0]);
    assert_eq!(shelf.set("size>10MB"), [1]);
    assert_eq!(shelf.set("size<=1KB"), [2, 3]);
    assert_eq!(shelf.set("modified:last-week OR modified:2020"), [1]);
    assert_eq!(shelf.set("modified:today"), [2, 3]);
    assert_eq!(shelf.set("created<2025"), [3]);
    assert_eq!(shelf.set("name:report"), [1]);
    assert_eq!(shelf.set("name:heron"), [] as [i64; 0]);
    assert_eq!(shelf.set("title:years"), [1]);
    assert_eq!(shelf.set("author:anna"), [] as [i64; 0], "a name without a meaning finds nothing");
    assert_eq!(shelf.set("size<1MB created>=2025"), [2]);

    let mut query = SearchQuery::parse("heron author:anna", NOW);
    let by = |people: &[i64]| Expression::Filter(Filter::Author(people.iter().copied().map(Id::new).collect()));
    let meanings: HashMap<Reference, Expression> =
        query.references().into_iter().map(|reference| (reference, by(&[9]))).collect();
    query.resolve(&meanings);
    assert_eq!(nodes(&shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None))), [2]);

    let mut query = SearchQuery::parse("in:there", NOW);
    let within = Expression::Filter(Filter::Within(Within(Arc::new(|position| position.place == Id::new(5)))));
    query.resolve(&query.references().into_iter().map(|reference| (reference, within.clone())).collect());
    assert_eq!(nodes(&shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None))), [2]);
}

#[test]
fn rows_of_lists_are_a_type_of_their_own() {
    let document = entry(1, "heron.row", "a grey bird");
    let mut row = entry(2, "Feed the heron.pdf", "egret and heron");
    row.kind = EntryKind::Row;
    row.title.clone_from(&row.name);
    let text = |text: &str| ColumnValue::Text(text.to_owned());
    row.values = vec![(Id::new(31), text("egret")), (Id::new(32), text("unlike its text"))];
    let mut valued = entry(3, "notes.txt", "nothing");
    valued.values = vec![(Id::new(31), text("egret"))];
    let shelf = Shelf::of([document, row, valued]);
    assert_eq!(shelf.set("type:row"), [2]);
    assert_eq!(shelf.set("type:\"list item\""), [2]);
    assert_eq!(shelf.set("ext:row"), [1]);
    assert_eq!(shelf.set("type:pdf OR ext:pdf"), [] as [i64; 0], "a title has no extension");
    assert_eq!(shelf.set("-type:row"), [1, 3]);
    assert_eq!(shelf.set("title:feed egret"), [2]);
    assert_eq!(shelf.set("egret"), [2, 3], "the text of a row has its values");
    assert_eq!(shelf.set("unlike"), [] as [i64; 0]);
    let query = SearchQuery::parse("*", NOW);
    let mut facets = shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None)).facets;
    assert_eq!((facets.take_rows(), facets.take_rows()), (1, 0));
    assert_eq!(facets.extensions, [("row".to_owned(), 1), ("txt".to_owned(), 1)].into());
}

#[test]
fn documents_state_their_authors() {
    let mut stated = entry(1, "a.txt", "heron");
    stated.stated_author = "Anna Maria Berg".to_owned();
    let mut edited = entry(2, "b.txt", "heron");
    edited.editor = Id::new(9);
    let shelf = Shelf::of([stated, edited]);
    let words = QueryWord::all_of("anna berg");
    let meaning = Expression::Words(WordField::StatedAuthor, Sought::Phrase { words, gap: 1 });
    let mut query = SearchQuery::parse("author:\"anna berg\"", NOW);
    query.resolve(&query.references().into_iter().map(|reference| (reference, meaning.clone())).collect());
    assert_eq!(nodes(&shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None))), [1]);
    let mut query = SearchQuery::parse("editor:x", NOW);
    let meaning = Expression::Filter(Filter::Editor(vec![Id::new(9)]));
    query.resolve(&query.references().into_iter().map(|reference| (reference, meaning.clone())).collect());
    assert_eq!(nodes(&shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None))), [2]);
}

#[test]
fn values_of_columns_are_compared_by_their_kind() {
    let (status, amount, until, leader, open) = (Id::new(100), Id::new(101), Id::new(102), Id::new(103), Id::new(104));
    let colours = Id::new(105);
    let valued =
        |node, name: &str, values: &[(Id, ColumnValue)]| Entry { values: values.to_vec(), ..entry(node, name, "") };
    let text = |text: &str| ColumnValue::Text(text.to_owned());
    let date = |day: i64| ColumnValue::Date(Timestamp::from_micros(NOW.micros() + day * DAY));
    let shelf = Shelf::of([
        valued(
            1,
            "a.txt",
            &[(status, text("Offene Verträge")), (amount, ColumnValue::Number(-2.5)), (until, date(-400))],
        ),
        valued(2, "b.txt", &[(amount, ColumnValue::Number(100.0)), (status, text("erledigt")), (until, date(0))]),
        valued(
            3,
            "c.txt",
            &[
                (leader, ColumnValue::Person(Id::new(8))),
                (leader, ColumnValue::Person(Id::new(7))),
                (open, ColumnValue::YesNo(true)),
                (colours, text("rot")),
                (colours, text("blau")),
            ],
        ),
        // The same values in columns that are not asked for.
        valued(
            4,
            "d.txt",
            &[(Id::new(200), text("Offene Verträge erledigt")), (Id::new(201), ColumnValue::Number(100.0))],
        ),
        entry(5, "e.txt", "offene"),
    ]);
    let kinds = [
        ("status", status, ColumnKind::Text),
        ("betrag", amount, ColumnKind::Number),
        ("bis", until, ColumnKind::Date),
        ("leiter", leader, ColumnKind::Person.taking_multiple(true).unwrap()),
        ("farben", colours, ColumnKind::Choice(Vec::new()).taking_multiple(true).unwrap()),
        ("offen", open, ColumnKind::YesNo),
    ];
    let mut known = KnownColumns::default();
    kinds.iter().for_each(|(name, _, kind)| known.add(name, kind));
    let found = |text: &str, current: bool| {
        let mut query = SearchQuery::parse_with(text, NOW, &model::Zone::UTC, &known);
        query.replace_filters(|filter| {
            let Filter::Column(condition) = filter else { return None };
            let of = |(name, id, kind): &(&str, Id, ColumnKind)| {
                Some((*id, condition.of_kind(kind, &[Id::new(7)]).filter(|_| *name == condition.name)?))
            };
            let is_current = Within(Arc::new(move |_| current));
            Some(Filter::Values(ValuesFilter { conditions: kinds.iter().filter_map(of).collect(), is_current }))
        });
        let mut found = nodes(&shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &InPlace(None)));
        found.sort_unstable();
        found
    };
    for (query, nodes) in [
        ("status:vertrag", vec![1]),
        ("status:\"offener Vertrag\"", vec![1]),
        ("status:offen*", vec![1]),
        ("status:(offene OR erledigt)", vec![1, 2]),
        ("-status:offene", vec![2, 3, 4, 5]),
        ("status:*", vec![1, 2]),
        ("betrag:100", vec![2]),
        ("betrag<0", vec![1]),
        ("betrag:-3..100", vec![1, 2]),
        ("betrag>=100,5", vec![]),
        ("bis:today OR leiter:x", vec![2, 3]),
        ("bis<2026", vec![1]),
        ("offen:yes", vec![3]),
        ("offen:no", vec![]),
        // One of several values is enough.
        ("farben:blau", vec![3]),
        ("farben:rot leiter:x", vec![3]),
        ("farben:gelb", vec![]),
        // Words of texts in columns are words of the document.
        ("offene", vec![1, 4, 5]),
        ("offene vertrag -status:*", vec![4]),
    ] {
        assert_eq!(found(query, true), nodes, "{query}");
    }
    assert_eq!(found("status:*", false), [] as [i64; 0], "values that are out of date fulfil nothing");
}

#[test]
fn documents_are_found_by_language_and_state() {
    let mut draft = entry(3, "c.txt", "");
    (draft.audience, draft.checked_out_by) = (Audience::Draft, Id::new(9));
    let first = entry(1, "a.txt", GERMAN);
    let changed = Changed(vec![valid(&first), valid(&draft)]);
    let shelf = Shelf::of([first, entry(2, "b.txt", &ENGLISH.repeat(2)), draft]);
    assert_eq!(shelf.set("lang:de"), [1]);
    assert_eq!(shelf.set("lang:en"), [2]);
    assert_eq!(shelf.set("is:draft"), [3]);
    assert_eq!(shelf.set("is:mine OR is:followed"), [] as [i64; 0], "what has no meaning finds nothing");
    let mut query = SearchQuery::parse("is:checkedout", NOW);
    query.replace_filters(|_| {
        Some(Filter::CheckedOut(CheckOuts(Arc::new(|node| match node.get() {
            1 => Some(true),
            3 => Some(false),
            _ => None,
        }))))
    });
    assert_eq!(nodes(&shelf.top(&query, Tolerance::Exact, HitOrder::Relevance, &changed)), [1]);
}
