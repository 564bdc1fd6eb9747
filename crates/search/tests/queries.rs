//! Queries to an index: inflections, operators, filters, similar words, orders and counts; and that no answer
//! depends on entries which are not admitted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ColumnKind, ColumnValue, Id, Timestamp};
use search::index::{
    Admission, Audience, Candidate, ChangedDocument, Checkpoint, Clock, Entry, FORMAT, Face, HitOrder, IndexWriter,
    SearchIndex, Spot, TopHits, TopRequest,
};
use search::query::{
    CheckOuts, Expression, Filter, KnownColumns, QueryWord, Reference, SearchQuery, Sought, Tolerance, ValuesFilter,
    Within, WordField,
};
use support::{Home, NOW, entry, nodes, valid};

const DAY: i64 = 86_400_000_000;

/// An index, and what it is in.
struct Shelf {
    index: Arc<SearchIndex>,
    _home: Home,
}

/// Admits entries of a place, or all.
struct InPlace(Option<i64>);

/// Admits all entries, of which some changed.
struct Changed(Vec<ChangedDocument>);

impl Admission for Changed {
    fn admit(&self, _: &Candidate<'_>) -> bool {
        true
    }

    fn caller(&self) -> Id {
        Id::new(1)
    }

    fn audience(&self, _: &Spot) -> Audience {
        Audience::Editors
    }

    fn changed(&self) -> Vec<ChangedDocument> {
        self.0.clone()
    }
}

impl Admission for InPlace {
    fn admit(&self, entry: &Candidate<'_>) -> bool {
        self.0.is_none_or(|place| entry.place() == Id::new(place))
    }

    fn caller(&self) -> Id {
        Id::new(1)
    }

    fn audience(&self, spot: &Spot) -> Audience {
        if self.0.is_none_or(|place| spot.place == Id::new(place)) { Audience::Editors } else { Audience::None }
    }
}

impl Shelf {
    fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let home = Home::new();
        let index = home.open();
        let mut writer = IndexWriter::open(index.clone()).unwrap();
        for entry in entries {
            writer.replace(entry.node, &[entry]).unwrap();
        }
        writer.commit(&Checkpoint { format: FORMAT, ..Checkpoint::default() }).unwrap();
        writer.close().unwrap();
        Self { index, _home: home }
    }

    fn top(&self, query: &SearchQuery, tolerance: Tolerance, order: HitOrder, admission: &dyn Admission) -> TopHits {
        let clock = Clock::new(Instant::now() + Duration::from_secs(60));
        let request = TopRequest { query, tolerance, limit: 50, order, counts_facets: true, now: NOW, clock };
        let top = self.index.view().top(&request, admission).unwrap();
        assert!(top.whole);
        top
    }

    fn found(&self, query: &str) -> Vec<i64> {
        nodes(&self.top(&SearchQuery::parse(query, NOW), Tolerance::Exact, HitOrder::Relevance, &InPlace(None)))
    }

    /// The documents found, by their identifiers.
    fn set(&self, query: &str) -> Vec<i64> {
        let mut found = self.found(query);
        found.sort_unstable();
        found
    }

    fn similar(&self, query: &str) -> Vec<i64> {
        nodes(&self.top(&SearchQuery::parse(query, NOW), Tolerance::Similar, HitOrder::Relevance, &InPlace(None)))
    }

    fn most(&self, query: &str) -> Vec<i64> {
        nodes(&self.top(&SearchQuery::parse(query, NOW), Tolerance::MostWords, HitOrder::Relevance, &InPlace(None)))
    }
}

const GERMAN: &str = "Der Vertrag über die Lieferung von Rohren wurde von beiden Seiten unterschrieben und wird in der \
    kommenden Woche an die Kunden verschickt, die noch keine Unterlagen haben. Eine Verlängerung ist möglich.";
const ENGLISH: &str = "The committee was asked to consider the applications that had been sent in, and it decided to \
    answer all of them within the following week, although several members were travelling at the time.";

#[test]
fn inflections_of_a_word_are_found() {
    let shelf = Shelf::of([entry(1, "a.txt", GERMAN), entry(2, "b.txt", ENGLISH), entry(3, "Verträge.pdf", "")]);
    assert_eq!(shelf.set("Verträge"), [1, 3]);
    assert_eq!(shelf.set("vertraegen"), [1, 3]);
    assert_eq!(shelf.set("Lieferungen Rohr"), [1]);
    assert_eq!(shelf.set("application committees"), [2]);
    assert_eq!(shelf.set("\"considered applications\""), [] as [i64; 0], "other words are between");
    assert_eq!(shelf.set("\"considered applications\"~1"), [2]);
    assert_eq!(shelf.set("\"beide Seite\""), [1], "phrases match inflections");
    assert_eq!(shelf.set("travel*"), [2]);
    assert_eq!(shelf.set("applicat*"), [2], "the beginning is longer than the stem");
    assert_eq!(shelf.set("unterschrieb*"), [1]);
    assert_eq!(shelf.set("verlang*"), [1]);
}

#[test]
fn operators_combine_words() {
    let texts = ["red heron", "red egret", "blue heron", "blue egret", "green"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    assert_eq!(shelf.set("red heron"), [1]);
    assert_eq!(shelf.set("red OR heron"), [1, 2, 3]);
    assert_eq!(shelf.set("red AND (heron OR egret)"), [1, 2]);
    assert_eq!(shelf.set("(red heron) OR (blue egret)"), [1, 4]);
    assert_eq!(shelf.set("heron -red"), [3]);
    assert_eq!(shelf.set("NOT (red OR blue)"), [5]);
    assert_eq!(shelf.set("-red -blue -green"), [] as [i64; 0]);
    assert_eq!(shelf.set("green OR NOT egret"), [1, 3, 5]);
    assert_eq!(shelf.set("*"), [1, 2, 3, 4, 5]);
    assert_eq!(shelf.set("* -green"), [1, 2, 3, 4]);
}

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
fn phrases_are_found_in_each_spelling() {
    let texts = ["Größe der Quelle", "Groesse der Quelle", "Grosse der Quelle", "neue Größe"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    assert_eq!(shelf.set("\"Größe der Quelle\""), [1, 2, 3]);
    assert_eq!(shelf.set("\"groesse der Quelle\""), [1, 2, 3]);
    assert_eq!(shelf.set("\"neue größe\""), [4]);
    assert_eq!(shelf.set("groess*"), [1, 2, 3, 4]);
    assert_eq!(shelf.set("größ*"), [1, 2, 3, 4]);
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
fn similar_words_and_compounds_are_found_when_asked_for() {
    let shelf = Shelf::of([
        entry(1, "a.txt", "Die Haftpflichtversicherung"),
        entry(2, "b.txt", "contract"),
        entry(3, "c.txt", "Vertragspartner"),
    ]);
    assert_eq!(shelf.found("Versicherung"), [] as [i64; 0]);
    assert_eq!(shelf.similar("Versicherung"), [1]);
    assert_eq!(shelf.similar("contarct"), [2]);
    assert_eq!(shelf.similar("Vertrag"), [3]);
    assert_eq!(shelf.similar("egret"), [] as [i64; 0]);
    assert_eq!(shelf.similar("\"contarct\""), [2]);
    assert_eq!(shelf.similar("contarct -contrast"), [2], "what is negated is meant exactly");
}

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

#[test]
fn some_of_many_words_may_be_missing() {
    let texts = ["red heron nest", "red heron egret", "red plan", "blue plan"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    let found = |query: &str| {
        let mut found = shelf.most(query);
        found.sort_unstable();
        found
    };
    assert_eq!(found("red heron missing"), [1, 2], "two of three");
    assert_eq!(shelf.most("red heron nest"), [1, 2], "all of them come first");
    assert_eq!(found("heron missing"), [] as [i64; 0], "one of two is not most");
    assert_eq!(found("red heron missing nest"), [1], "three of four");
    assert_eq!(found("red heron missing type:pdf"), [] as [i64; 0], "filters stay");
    assert_eq!(found("red heron missing -egret"), [1], "so does what is negated");
    assert_eq!(found("red heron missing (egret OR blue)"), [2], "and alternatives");
    assert_eq!(found("red hreon missing"), [1, 2], "similar words count");
}

#[test]
fn digits_are_never_mistaken() {
    let texts = ["invoice2025", "invoice2026", "invioce2025"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    let mut found = shelf.similar("invoice2025");
    found.sort_unstable();
    assert_eq!(found, [1, 3]);
}

#[test]
fn compounds_are_found_by_their_ends_in_any_inflection() {
    let compounds = "Die Plausibilitätsprüfungen der Mietverträge sind für die Prozesssitzung wichtig.";
    let shelf = Shelf::of([entry(1, "a.txt", &format!("{GERMAN} {compounds}"))]);
    for query in ["Prüfung", "Prüfungen", "Vertrags", "Sitzungen"] {
        assert_eq!(shelf.similar(query), [1], "{query}");
    }
    let both = format!("{} {GERMAN} {compounds}", format!("{ENGLISH} ").repeat(3));
    let shelf = Shelf::of([entry(1, "a.txt", &both)]);
    assert_eq!(shelf.similar("Prüfung"), [1], "the smaller part of a text is in German");
}

#[test]
fn values_of_columns_are_compared_by_their_kind() {
    let (status, amount, until, leader, open) = (Id::new(100), Id::new(101), Id::new(102), Id::new(103), Id::new(104));
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
        valued(3, "c.txt", &[(leader, ColumnValue::Person(Id::new(7))), (open, ColumnValue::YesNo(true))]),
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
        ("leiter", leader, ColumnKind::Person),
        ("offen", open, ColumnKind::YesNo),
    ];
    let mut known = KnownColumns::default();
    kinds.iter().for_each(|(name, _, kind)| known.add(name, kind));
    let found = |text: &str, current: bool| {
        let mut query = SearchQuery::parse_with(text, NOW, &known);
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
        // Words of texts in columns are words of the document.
        ("offene", vec![1, 4, 5]),
        ("offene vertrag -status:*", vec![4]),
    ] {
        assert_eq!(found(query, true), nodes, "{query}");
    }
    assert_eq!(found("status:*", false), [] as [i64; 0], "values that are out of date fulfil nothing");
}

#[test]
fn names_are_found_by_their_parts_and_ends() {
    let names = ["Jahresbericht 2026.pdf", "Berichte.txt", "RE-2026-0815.pdf", "Überbericht"];
    let shelf = Shelf::of((1..).zip(names).map(|(node, name)| entry(node, name, "unbericht")));
    assert_eq!(shelf.set("*bericht*"), [1, 2, 4]);
    assert_eq!(shelf.set("*bericht"), [1, 2, 4], "a stem is an end too");
    assert_eq!(shelf.set("*sbericht"), [1]);
    assert_eq!(shelf.set("*2026-0*"), [3]);
    assert_eq!(shelf.set("*bericht* -*bers*"), [1, 2, 4]);
    assert_eq!(shelf.set("name:*berb*"), [4]);
}

#[test]
fn documents_are_found_by_language_and_state() {
    let mut draft = entry(3, "c.txt", "");
    (draft.face, draft.checked_out_by) = (Face::Draft, Id::new(9));
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
