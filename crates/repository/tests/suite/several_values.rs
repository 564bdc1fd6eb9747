//! Tests of columns that take several values; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{change, code, column, formula, name, new_list, set, text, titles, value, with_options};
use crate::support::{Farm, at, each_farm, put, with_rights};
use database::{Reader, Sql, params};
use model::{Code, ColumnKind, ColumnValue, Id, MAX_VALUES_PER_FIELD, Right, Total};
use repository::{ColumnChange, ColumnOptions, Filter, ListRequest, RowChange, Session, Sort, Target, ValueTest};

fn word(word: &str) -> ColumnValue {
    ColumnValue::Text(word.to_owned())
}

fn words(words: &[&str]) -> Option<ColumnValue> {
    Some(ColumnValue::Multiple(words.iter().map(|one| word(one)).collect()))
}

fn entries(ids: &[Id]) -> Option<ColumnValue> {
    Some(ColumnValue::Multiple(ids.iter().copied().map(ColumnValue::Lookup).collect()))
}

fn choices() -> ColumnKind {
    ColumnKind::Choice(["red", "Red", "green", "blue", "a; \"b\""].map(str::to_owned).into())
}

fn several(kind: ColumnKind) -> ColumnKind {
    kind.taking_multiple(true).unwrap()
}

fn is(column: Id, value: ColumnValue) -> ListRequest {
    let values = vec![(column, ValueTest::Is(value))];
    ListRequest { filter: Filter { values, ..Filter::default() }, ..ListRequest::default() }
}

/// The index entries of a list, library or folder: slot, text and item.
async fn index_of(session: &Session, parent: Id) -> Vec<(i64, String, i64)> {
    let database = session.storage().await.unwrap().databases().unwrap().remove(0).database;
    let read = move |reader: &mut Reader<'_>| {
        let sql = Sql::new("SELECT slot, text, node_id FROM field_index WHERE parent_id = $1 AND number = 0");
        reader.query(sql, &params![parent], |row| Ok((row.get(0)?, row.get::<String>(1)?, row.get(2)?)))
    };
    let mut entries: Vec<(i64, String, i64)> = database.read(read).await.unwrap();
    entries.sort();
    entries
}

fn id_of(target: &Target) -> Id {
    let id = match target {
        Target::Id(id) => Some(*id),
        Target::Path(_) => None,
    };
    id.unwrap()
}

fn definition(label: &str, kind: ColumnKind) -> ColumnChange {
    let options = ColumnOptions::default();
    ColumnChange { name: name(label), kind, required: false, content_type_id: None, options }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_keep_their_order_and_any_of_them_is_found() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let colours = column(&admin, &list, "Colours", several(choices())).await;
        let person = admin.principal().id;
        let people = column(&admin, &list, "People", several(ColumnKind::Person)).await;
        let team = Some(ColumnValue::Multiple(vec![ColumnValue::Person(person)]));
        for (row, value, team) in [
            ("a", words(&["green", "red"]), None),
            ("b", words(&["blue"]), team.clone()),
            ("c", None, None),
            ("d", words(&["a; \"b\"", "Red", "red"]), None),
        ] {
            let set = vec![(title, text(row)), (colours, value.clone()), (people, team)];
            let id = admin.add_row(&list, set).await.unwrap();
            assert_eq!(crate::support::rows::value(&admin, id, colours).await, value);
        }
        // They are sorted by the first value.
        let sorted = ListRequest { sort: Sort::Column(colours), ..ListRequest::default() };
        assert_eq!(titles(&admin, &list, &sorted, 2).await, ["d", "b", "a", "c"]);
        for (wanted, found) in [("red", vec!["a", "d"]), ("Red", vec!["d"]), ("blue", vec!["b"]), ("none", vec![])] {
            for condition in ["", "[Task] <> \"\""] {
                let mut request = is(colours, word(wanted));
                request.filter.condition = condition.to_owned();
                assert_eq!(titles(&admin, &list, &request, 1).await, found, "{wanted}");
            }
        }
        assert_eq!(titles(&admin, &list, &is(people, ColumnValue::Person(person)), 9).await, ["b"]);
        let contains = vec![(colours, ValueTest::Contains("RE".to_owned()))];
        let contains = ListRequest { filter: Filter { values: contains, ..Filter::default() }, ..sorted };
        assert_eq!(titles(&admin, &list, &contains, 9).await, ["d", "a"]);
        // A row counts once.
        for filter in [Filter::default(), Filter { condition: "[Task] <> \"\"".to_owned(), ..Filter::default() }] {
            let count = admin.totals(&list, filter, &[(colours, Total::Count)]).await.unwrap().unwrap();
            assert_eq!(count, [Some(ColumnValue::Number(3.0))]);
        }
        assert!(admin.totals(&list, Filter::default(), &[(colours, Total::Max)]).await.is_err());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_rows_are_found_by_any_value_without_the_index() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let colours = column(&admin, &list, "Colours", several(choices())).await;
        let add = |number: usize| {
            let value = if number.is_multiple_of(3) { words(&["blue"]) } else { words(&["green", "red"]) };
            RowChange::Add { set: vec![(title, text(&format!("{number:03}"))), (colours, value)] }
        };
        change(&admin, &list, (0..600).map(add).collect()).await;
        let mut request = is(colours, word("red"));
        request.filter.condition = "[Task] <> \"\"".to_owned();
        assert_eq!(titles(&admin, &list, &request, 150).await.len(), 400);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_values_are_refused() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let numbers = ColumnKind::Choice((0..40).map(|number| number.to_string()).collect());
        let many = column(&admin, &list, "Many", several(numbers.clone())).await;
        let one = column(&admin, &list, "One", numbers).await;
        let people = column(&admin, &list, "People", several(ColumnKind::Person)).await;
        let of = |range: std::ops::Range<usize>| {
            Some(ColumnValue::Multiple(range.map(|number| word(&number.to_string())).collect()))
        };
        let nested = Some(ColumnValue::Multiple(vec![ColumnValue::Multiple(vec![word("1")])]));
        let stranger = ColumnValue::Multiple([admin.principal().id, Id::new(77)].map(ColumnValue::Person).into());
        let row = admin.add_row(&list, vec![(title, text("r")), (many, of(0..MAX_VALUES_PER_FIELD))]).await.unwrap();
        for (column, bad) in [
            (many, of(0..MAX_VALUES_PER_FIELD + 1)),
            (many, of(0..0)),
            (many, words(&["1", "1"])),
            (many, words(&["1", "none"])),
            (many, nested.clone()),
            (many, Some(word("1"))),
            (one, words(&["1"])),
            (one, nested),
            (people, words(&["1"])),
        ] {
            let refused = set(&admin, row, column, bad.clone()).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidValue, "{bad:?}");
            let added =
                change(&admin, &list, vec![RowChange::Add { set: vec![(title, text("x")), (column, bad)] }]).await;
            assert_eq!(code(&added[0]), Some(Code::InvalidValue));
        }
        assert_eq!(set(&admin, row, people, Some(stranger)).await.unwrap_err().code(), Code::InvalidValue);
        assert_eq!(value(&admin, row, many).await, of(0..MAX_VALUES_PER_FIELD));
        // Each of several values counts for the size of a request.
        let add = || RowChange::Add { set: vec![(title, text("x")), (many, of(0..MAX_VALUES_PER_FIELD))] };
        let refused = admin.change_rows(&list, (0..960).map(|_| add()).collect(), true).await.unwrap_err();
        assert_eq!(refused.code(), Code::TooMuchAtOnce);
        assert_eq!(change(&admin, &list, (0..900).map(|_| add()).collect()).await.len(), 900);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_shorter_where_its_values_name_very_many_entries() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (projects, title) = new_list(&admin).await;
        let add = |set| RowChange::Add { set };
        let named =
            change(&admin, &projects, (0..MAX_VALUES_PER_FIELD).map(|_| add(vec![(title, text("p"))])).collect());
        let named: Vec<Id> = named.await.iter().map(|outcome| outcome.row.unwrap()).collect();
        let place = admin.create_list(&at(""), &name("Plans"), &name("Title")).await.unwrap();
        let tasks = Target::Id(place.id);
        let title = admin.columns(&tasks).await.unwrap().0[0].id;
        let many = column(&admin, &tasks, "Projects", several(ColumnKind::Lookup(id_of(&projects)))).await;
        let rows = (0..900).map(|_| add(vec![(title, text("t")), (many, entries(&named))])).collect();
        let mut rows: Vec<Id> = change(&admin, &tasks, rows).await.iter().map(|outcome| outcome.row.unwrap()).collect();
        let request = ListRequest { limit: 1_000, columns: 9, ..ListRequest::default() };
        let first = admin.list_filtered(&tasks, request.clone()).await.unwrap();
        let next = ListRequest { after: first.page.next.clone(), ..request };
        let second = admin.list_filtered(&tasks, next).await.unwrap();
        assert_eq!((first.page.items.len(), second.page.items.len(), second.page.next), (819, 81, None));
        assert_eq!(admin.rows_by_id(&tasks, rows.clone()).await.unwrap().page.items.len(), 819);
        rows.truncate(819);
        assert!(admin.rows_by_id(&tasks, rows).await.unwrap().page.next.is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_with_rows_takes_several_values_from_now_on() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let colour = column(&admin, &list, "Colour", choices()).await;
        let row = admin.add_row(&list, vec![(title, text("r")), (colour, text("red"))]).await.unwrap();
        let empty = admin.add_row(&list, vec![(title, text("e"))]).await.unwrap();
        let before = index_of(&admin, id_of(&list)).await;
        admin.change_column(&list, colour, definition("Colour", several(choices()))).await.unwrap();
        assert_eq!(value(&admin, row, colour).await, words(&["red"]));
        assert_eq!(value(&admin, empty, colour).await, None);
        assert_eq!(index_of(&admin, id_of(&list)).await, before);
        // The same value is no change, and what the row had before reads as a list.
        set(&admin, row, colour, words(&["red"])).await.unwrap();
        assert_eq!(admin.row_revisions(&row.into(), None, 9).await.unwrap().items.len(), 1);
        set(&admin, row, colour, words(&["blue", "red"])).await.unwrap();
        let revisions = admin.row_revisions(&row.into(), None, 9).await.unwrap().items;
        assert!(revisions[1].values.contains(&(colour, words(&["red"]).unwrap())), "{revisions:?}");
        assert_eq!(titles(&admin, &list, &is(colour, word("red")), 9).await, ["r"]);
        // There is no way back.
        assert!(admin.change_column(&list, colour, definition("Colour", choices())).await.is_err());
        assert!(admin.change_column(&list, colour, definition("Colour", several(ColumnKind::Person))).await.is_err());
        assert_eq!(value(&admin, row, colour).await, words(&["blue", "red"]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn formulas_read_no_several_values() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let options = |default: &str, check: &str, unique| ColumnOptions {
            default: default.to_owned(),
            check: check.to_owned(),
            unique,
            ..ColumnOptions::default()
        };
        let kind = || several(choices());
        for bad in
            [formula("\"red\""), options("\"red\"", "", false), options("", "1 = 1", false), options("", "", true)]
        {
            let refused = with_options(&admin, &list, "Bad", kind(), bad).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidFormula);
        }
        column(&admin, &list, "Many", kind()).await;
        admin.add_row(&list, vec![(title, text("first"))]).await.unwrap();
        let refused = with_options(&admin, &list, "Bad", ColumnKind::YesNo, formula("blank([Many])")).await;
        assert_eq!(refused.unwrap_err().code(), Code::InvalidFormula);
        let filter = Filter { condition: "[Many] = \"red\"".to_owned(), ..Filter::default() };
        let request = ListRequest { filter, ..ListRequest::default() };
        assert_eq!(admin.list_filtered(&list, request).await.unwrap_err().code(), Code::InvalidFormula);
        // A column that a formula reads, or that has options itself, keeps its single values.
        let read = column(&admin, &list, "Read", choices()).await;
        let reader = with_options(&admin, &list, "Reader", ColumnKind::Text, formula("[Read]")).await.unwrap();
        let refused = admin.change_column(&list, read, definition("Read", kind())).await.unwrap_err();
        assert_eq!(refused.code(), Code::ColumnRead);
        admin.delete_column(&list, reader).await.unwrap();
        admin.change_column(&list, read, definition("Read", kind())).await.unwrap();
        let unique = with_options(&admin, &list, "Unique", choices(), options("", "", true)).await.unwrap();
        let both = ColumnChange { options: options("", "", true), ..definition("Unique", kind()) };
        assert_eq!(admin.change_column(&list, unique, both).await.unwrap_err().code(), Code::InvalidFormula);
        admin.change_column(&list, unique, definition("Unique", kind())).await.unwrap();
        assert!(admin.add_row(&list, vec![(title, text("r")), (read, words(&["red"]))]).await.is_ok());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_entries_follow_the_values() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let documents = at("Documents");
        let library = admin.item(&documents).await.unwrap().id;
        let colours = column(&admin, &documents, "Colours", several(choices())).await;
        let folder = admin.create_folder(&documents, &name("f")).await.unwrap().id;
        let document = put(&admin, "Documents/a.txt", "a").await.unwrap().id;
        let of = async |parent: Id| {
            let entries = index_of(&admin, parent).await;
            entries.into_iter().map(|(slot, text, _)| (slot.signum(), text)).collect::<Vec<_>>()
        };
        let entry = |sign: i64, text: &str| (sign, text.to_owned());
        // Two choices with the same folded text are one entry.
        set(&admin, document, colours, words(&["green", "red", "Red", "blue"])).await.unwrap();
        let all = [entry(-1, "blue"), entry(-1, "red"), entry(1, "green")];
        assert_eq!(of(library).await, all);
        set(&admin, document, colours, words(&["red", "blue"])).await.unwrap();
        let two = [entry(-1, "blue"), entry(1, "red")];
        assert_eq!(of(library).await, two);
        let copy = admin.copy_to(&document.into(), &folder.into(), None).await.unwrap();
        assert_eq!(of(folder).await, two);
        assert_eq!(value(&admin, copy.id, colours).await, words(&["red", "blue"]));
        admin.delete(&copy.id.into()).await.unwrap();
        admin.move_to(&document.into(), &folder.into(), None).await.unwrap();
        assert_eq!((of(folder).await.as_slice(), of(library).await.as_slice()), (&two[..], &[][..]));
        assert_eq!(titles(&admin, &folder.into(), &is(colours, word("blue")), 9).await, ["a.txt"]);
        // Through the recycle bin and back.
        let collection = admin.item(&documents).await.unwrap().collection_id;
        let bin = admin.delete(&document.into()).await.unwrap();
        assert_eq!(of(folder).await, []);
        admin.restore(collection, bin).await.unwrap();
        assert_eq!(of(folder).await, two);
        set(&admin, document, colours, words(&["red"])).await.unwrap();
        assert_eq!(of(folder).await, [entry(1, "red")]);
        set(&admin, document, colours, words(&["red", "green"])).await.unwrap();
        admin.delete_column(&documents, colours).await.unwrap();
        assert_eq!(of(folder).await, []);
        // Rows of lists.
        let (list, title) = new_list(&admin).await;
        let colours = column(&admin, &list, "Colours", several(choices())).await;
        let row = admin.add_row(&list, vec![(title, text("r")), (colours, words(&["red", "green"]))]).await.unwrap();
        let with_title = [entry(-1, "green"), entry(1, "r"), entry(1, "red")];
        assert_eq!(of(id_of(&list)).await, with_title);
        admin.delete_column(&list, colours).await.unwrap();
        assert_eq!(of(id_of(&list)).await, [entry(1, "r")]);
        admin.delete(&row.into()).await.unwrap();
        assert_eq!(of(id_of(&list)).await, []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_entries_stay_among_those_that_are_seen() {
    each_farm(|farm: Farm| async move {
        let admin = farm.administrator().await;
        let projects = admin.create_list(&at(""), &name("Projects"), &name("Project")).await.unwrap().id;
        let title = admin.columns(&projects.into()).await.unwrap().0[0].id;
        let mut rows = Vec::new();
        for label in ["Website", "Archive", "Secret", "Hidden"] {
            rows.push(admin.add_row(&projects.into(), vec![(title, text(label))]).await.unwrap());
        }
        let [website, archive, secret, hidden] = rows[..] else { panic!("four rows") };
        for row in [secret, hidden] {
            admin.break_inheritance(&row.into(), false).await.unwrap();
        }
        let (tasks, task_title) = new_list(&admin).await;
        let project = column(&admin, &tasks, "Projects", several(ColumnKind::Lookup(projects))).await;
        let first = vec![(task_title, text("t")), (project, entries(&[website, secret]))];
        let task = admin.add_row(&tasks, first).await.unwrap();
        let rights = [Right::View, Right::ViewVersions, Right::Add, Right::Edit];
        let member = with_rights(&farm, "member", "", &rights).await.1;
        let shown = value(&member, task, project).await.unwrap();
        let names = member.value_names(&tasks, &[&shown]).await.unwrap();
        assert!(names.entries.contains_key(&website) && !names.entries.contains_key(&secret));
        // What was there stays, in any order; what is new must be seen.
        set(&member, task, project, entries(&[secret, archive, website])).await.unwrap();
        for bad in [[secret, hidden], [archive, task], [website, Id::new(77)]] {
            let refused = set(&member, task, project, entries(&bad)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidValue);
            let add = RowChange::Add { set: vec![(task_title, text("x")), (project, entries(&bad))] };
            assert_eq!(code(&change(&member, &tasks, vec![add]).await[0]), Some(Code::InvalidValue));
        }
        set(&member, task, project, entries(&[archive])).await.unwrap();
        assert_eq!(
            set(&member, task, project, entries(&[archive, secret])).await.unwrap_err().code(),
            Code::InvalidValue
        );
        assert_eq!(value(&admin, task, project).await, entries(&[archive]));
        assert_eq!(titles(&member, &tasks, &is(project, ColumnValue::Lookup(archive)), 9).await, ["t"]);
        let sorted = ListRequest { sort: Sort::Column(project), ..ListRequest::default() };
        assert_eq!(titles(&member, &tasks, &sorted, 9).await, ["t"]);
    })
    .await;
}
