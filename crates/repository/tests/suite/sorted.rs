//! Tests of listings in every order, filtered, page by page, and of saved views; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{at, each_farm, put};
use database::{Database, Engine, Schema, Sql, Transaction, params};
use model::{ColumnKind, ColumnValue, ErrorKind, Id, LibrarySettings, Name, Role, Timestamp, Versioning};
use repository::{
    ColumnChange, ColumnOptions, Filter, ListRequest, NewView, Session, Sort, Target, ValueTest, ValuesChange,
};

/// Returns all names of a listing in its order, fetched `limit` at a time.
async fn names(session: &Session, place: &str, request: &ListRequest, limit: usize) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page =
            session.list_filtered(&at(place), ListRequest { after, limit, ..request.clone() }).await.unwrap().page;
        found.extend(page.items.into_iter().map(|item| item.name));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

async fn column(session: &Session, name: &str, kind: ColumnKind) -> Id {
    let change = ColumnChange {
        name: Name::new(name).unwrap(),
        kind,
        required: false,
        content_type_id: None,
        options: ColumnOptions::default(),
    };
    session.create_column(&at("Documents"), change).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_shows_every_document_once_in_both_directions() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (berta_id, berta) = farm.person("berta").await;
        admin.grant(&at(""), berta_id, Role::CONTRIBUTE).await.unwrap();
        let text = column(&admin, "Title", ColumnKind::Text).await;
        let number = column(&admin, "Amount", ColumnKind::Number).await;
        let date = column(&admin, "Due", ColumnKind::Date).await;
        let person = column(&admin, "Owner", ColumnKind::Person).await;
        admin.create_folder(&at("Documents"), &Name::new("folder").unwrap()).await.unwrap();
        for i in 0..24_usize {
            let (path, who) = (format!("Documents/{i:02}"), if i % 3 == 0 { &berta } else { &admin });
            put(who, &path, &"x".repeat(i % 5)).await.unwrap();
            if i % 4 == 3 {
                continue;
            }
            let values = vec![
                (text, Some(ColumnValue::Text(format!("Word {}", ["b", "A", "c"][i % 3])))),
                (number, Some(ColumnValue::Number([2.5, -1.0, 1e9][i % 3]))),
                (date, Some(ColumnValue::Date(Timestamp::from_micros(i as i64 % 4 * 1_000_000)))),
                (person, Some(ColumnValue::Person([berta_id, admin.principal().id][i % 2]))),
            ];
            who.set_values(&at(&path), ValuesChange { values, ..ValuesChange::default() }).await.unwrap();
        }
        let orders = [Sort::Name, Sort::Modified, Sort::Size, Sort::Person, Sort::Type];
        for sort in orders.into_iter().chain([text, number, date, person].map(Sort::Column)) {
            for descending in [false, true] {
                let request = ListRequest { sort, descending, ..ListRequest::default() };
                let whole = names(&admin, "Documents", &request, 100).await;
                assert_eq!(whole.first().map(String::as_str), Some("folder"), "{sort:?}");
                assert_eq!(whole.iter().collect::<HashSet<_>>().len(), 25, "{sort:?} {descending}: {whole:?}");
                for limit in [1, 7] {
                    assert_eq!(names(&admin, "Documents", &request, limit).await, whole, "{sort:?} {descending}");
                }
            }
        }
        let by = |sort| ListRequest { sort, ..ListRequest::default() };
        let words = names(&admin, "Documents", &by(Sort::Column(text)), 100).await;
        // "A" comes before "b" regardless of case. Documents without a value come at the end, by name.
        assert_eq!(words[1..3], ["01", "04"]);
        assert_eq!(words[19..], ["03", "07", "11", "15", "19", "23"]);
        let people = names(&admin, "Documents", &by(Sort::Person), 100).await;
        assert_eq!(people[1..3], ["01", "02"], "Administrator comes before berta");
        // A moved document keeps its value in the column, by which it is still ordered.
        admin.move_to(&at("Documents/04"), &at("Documents/folder"), None).await.unwrap();
        assert_eq!(names(&admin, "Documents", &by(Sort::Column(text)), 5).await.len(), 24);
        let moved = names(&admin, "Documents/folder", &by(Sort::Column(text)), 5).await;
        assert_eq!(moved, ["04"]);
        // After a column is removed, the order falls back to the name.
        admin.delete_column(&at("Documents"), text).await.unwrap();
        assert_eq!(
            names(&admin, "Documents", &by(Sort::Column(text)), 5).await,
            names(&admin, "Documents", &by(Sort::Name), 9).await
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_leave_out_what_does_not_fit() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (berta_id, berta) = farm.person("berta").await;
        admin.grant(&at(""), berta_id, Role::CONTRIBUTE).await.unwrap();
        let state = column(&admin, "State", ColumnKind::Choice(vec!["new".into(), "won".into()])).await;
        let amount = column(&admin, "Amount", ColumnKind::Number).await;
        admin.create_folder(&at("Documents"), &Name::new("Plans").unwrap()).await.unwrap();
        for (i, name) in ["Plan A.txt", "plan b.txt", "Other.txt", "Größe.txt"].into_iter().enumerate() {
            let who = if i % 2 == 0 { &admin } else { &berta };
            put(who, &format!("Documents/{name}"), "x").await.unwrap();
            let word = ["new", "won"][i / 2].to_owned();
            let values = vec![(state, Some(ColumnValue::Text(word))), (amount, Some(ColumnValue::Number(i as f64)))];
            who.set_values(&at(&format!("Documents/{name}")), ValuesChange { values, ..ValuesChange::default() })
                .await
                .unwrap();
        }
        let look = async |filter: Filter| {
            names(&admin, "Documents", &ListRequest { filter, ..ListRequest::default() }, 3).await
        };
        let named = |name: &str| Filter { name: name.into(), ..Filter::default() };
        assert_eq!(look(named("PLAN")).await, ["Plans", "Plan A.txt", "plan b.txt"]);
        assert_eq!(look(named("b plan txt x y")).await, Vec::<String>::new());
        assert_eq!(look(named("GRÖßE")).await.len(), 1);
        let by_berta = Filter { person: Some(berta_id), ..Filter::default() };
        assert_eq!(look(by_berta.clone()).await, ["Größe.txt", "plan b.txt"]);
        let values = vec![(state, ValueTest::Is(ColumnValue::Text("won".into())))];
        assert_eq!(look(Filter { values: values.clone(), ..Filter::default() }).await, ["Größe.txt", "Other.txt"]);
        assert_eq!(look(Filter { values, ..by_berta }).await, ["Größe.txt"]);
        let values = vec![(amount, ValueTest::Between(1.0, 2.0))];
        assert_eq!(look(Filter { values, ..Filter::default() }).await, ["Other.txt", "plan b.txt"]);
        let later = Timestamp::now().after(std::time::Duration::from_secs(60));
        assert!(look(Filter { since: Some(later), ..Filter::default() }).await.is_empty());
        assert_eq!(look(Filter { until: Some(later), ..Filter::default() }).await.len(), 4);
        let types = admin.media_types(&at("Documents")).await.unwrap();
        assert_eq!(types.len(), 1, "{types:?}");
        assert_eq!(look(Filter { media_type: Some(types[0].clone()), ..Filter::default() }).await.len(), 4);
        assert!(look(Filter { media_type: Some("no/such".into()), ..Filter::default() }).await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_of_one_person_or_of_everybody() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, reader) = farm.person("reader").await;
        admin.grant(&at(""), id, Role::READ).await.unwrap();
        let view = |name: &str, shared: bool, standard: bool| NewView {
            name: Name::new(name).unwrap(),
            query: "sort=size".into(),
            shared,
            standard,
        };
        let documents = at("Documents");
        admin.save_view(&documents, view("All", true, true)).await.unwrap();
        admin.save_view(&documents, view("Other", true, true)).await.unwrap();
        admin.save_view(&documents, view("Mine", false, true)).await.unwrap();
        reader.save_view(&documents, view("His", false, false)).await.unwrap();
        reader.save_view(&documents, NewView { query: "sort=name".into(), ..view("HIS", false, true) }).await.unwrap();
        let refused = reader.save_view(&documents, view("Theirs", true, false)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        let seen = reader.views(&documents).await.unwrap();
        let said: Vec<_> = seen.iter().map(|view| (view.name.as_str(), view.shared, view.standard)).collect();
        assert_eq!(said, [("All", true, false), ("Other", true, true), ("HIS", false, true)]);
        let (all, his) = (seen[0].id, seen[2].id);
        assert_eq!(reader.delete_view(&documents, all).await.unwrap_err().kind(), ErrorKind::Forbidden);
        assert_eq!(admin.delete_view(&documents, his).await.unwrap_err().kind(), ErrorKind::NotFound);
        reader.delete_view(&documents, his).await.unwrap();
        admin.delete_view(&documents, all).await.unwrap();
        assert_eq!(reader.views(&documents).await.unwrap().len(), 1);
        let long = NewView { query: "x".repeat(4_001), ..view("Long", false, false) };
        assert_eq!(admin.save_view(&documents, long).await.unwrap_err().kind(), ErrorKind::Invalid);
    })
    .await;
}

/// Number of hidden documents in front of the one that the reader may see.
const DRAFTS: i64 = 100_000;

/// Creates many copies of an existing draft.
async fn multiply(content: &Database, draft: Id) {
    let multiply = move |transaction: &mut Transaction<'_>| {
        let sql = "INSERT INTO node (id, collection_id, parent_id, library_id, scope_id, kind, name, folded, \
            created_at, created_by, modified_at, modified_by, content_type_id, size, media_type, version_id, \
            published_id, major, minor) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $2) \
            SELECT d.id + n, d.collection_id, d.parent_id, d.library_id, d.scope_id, d.kind, d.name || n, \
            d.folded || n, d.created_at, d.created_by, d.modified_at, d.modified_by, d.content_type_id, d.size, \
            d.media_type, d.version_id, d.published_id, d.major, d.minor FROM node d, n WHERE d.id = $1";
        transaction.execute(Sql::new(sql), &params![draft, DRAFTS]).map(drop)
    };
    content.write(multiply).await.unwrap();
}

#[tokio::test]
async fn a_walk_past_what_is_hidden_keeps_nobody_waiting() {
    let farm = crate::support::Farm::new(Engine::Sqlite).await;
    let admin = farm.administrator().await;
    let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
    admin.create_library(&at(""), &Name::new("Drafts").unwrap(), settings).await.unwrap();
    let draft = put(&admin, "Drafts/a-draft.txt", "draft").await.unwrap().id;
    let shown = put(&admin, "Drafts/z-shown.txt", "shown").await.unwrap().id;
    admin.publish(&Target::Id(shown), "").await.unwrap();
    let content = Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await.unwrap();
    multiply(&content, draft).await;
    content.close().await;
    let (id, reader) = farm.person("reader").await;
    admin.grant(&at(""), id, Role::READ).await.unwrap();
    let filter = Filter { name: "txt".into(), ..Filter::default() };
    let request = ListRequest { filter, limit: 100, ..ListRequest::default() };

    // Other tasks on this single thread continue during the walk.
    let (ticks, started) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    let counted = ticks.clone();
    let ticking = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            // sleep: a tick stands for the time that other requests need
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    for unfiltered in [false, true] {
        let before = ticks.load(Ordering::Relaxed);
        let asked = if unfiltered { ListRequest { limit: 100, ..ListRequest::default() } } else { request.clone() };
        let page = reader.list_filtered(&at("Drafts"), asked).await.unwrap().page;
        let names: Vec<_> = page.items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!((names, page.next.is_some()), (vec!["z-shown.txt"], false), "the page is what it was");
        let ticked = ticks.load(Ordering::Relaxed) - before;
        println!("{ticked} ticks in {:?}", started.elapsed());
        assert!(ticked > 20, "{ticked} ticks while the walk went on");
    }
    assert_eq!(reader.media_types(&at("Drafts")).await.unwrap(), ["text/plain"]);
    // With a filter that no document passes, the database searches everything in one statement.
    let before = ticks.load(Ordering::Relaxed);
    let nothing = Filter { name: "no such name".into(), ..Filter::default() };
    let asked = ListRequest { filter: nothing, limit: 100, ..ListRequest::default() };
    assert!(admin.list_filtered(&at("Drafts"), asked).await.unwrap().page.items.is_empty());
    let ticked = ticks.load(Ordering::Relaxed) - before;
    // On this thread the statement would let at most one tick through.
    assert!(ticked > 1, "{ticked} ticks while the database looked for nothing");
    ticking.abort();

    // A user has few such walks in progress and some that wait, and takes none from another user.
    let (id, other) = farm.person("other").await;
    admin.grant(&at(""), id, Role::READ).await.unwrap();
    let reader = farm.session(reader.principal().id).await;
    let other = farm.session(other.principal().id).await;
    let walk = async |session: &Session| {
        let walked = session.list_filtered(&at("Drafts"), request.clone()).await;
        walked.map(|listed| listed.page.items.len()).map_err(|error| error.code())
    };
    let many = async {
        let walks = (0..30).map(|_| walk(&reader));
        futures_util::future::join_all(walks).await
    };
    let (many, one) = tokio::join!(many, walk(&other));
    assert_eq!(one, Ok(1));
    let refused = many.iter().filter(|walked| **walked == Err(model::Code::TooManyRequests)).count();
    assert!((10..30).contains(&refused), "{many:?}");
    assert!(many.contains(&Ok(1)), "{many:?}");
}
