//! Tests of lists: rows that are added, changed, deleted and restored, their order, their versions, and the rights on
//! them; on both engines.

use crate::support::rows::{change, code, column, name, new_list, number, text, titles, value};
use crate::support::{at, each_farm};
use model::{Code, ColumnKind, ColumnValue, Digest, Id, LibrarySettings, NodeKind, Right, Role, Timestamp};
use repository::{
    Bin, ColumnChange, ColumnOptions, Filter, ListRequest, RowChange, RowOutcome, Sort, Target, ValueTest, ValuesChange,
};

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_added_read_changed_deleted_and_restored() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let effort = column(&admin, &list, "Effort", ColumnKind::Number).await;
        let first = admin.add_row(&list, vec![(title, text("Call Anna")), (effort, None)]).await.unwrap();
        let second = admin.add_row(&list, vec![(title, text("Write"))]).await.unwrap();
        let item = admin.item(&at("Tasks/1")).await.unwrap();
        assert_eq!((item.id, item.kind, item.shown_name()), (first, NodeKind::Row, "Call Anna"));
        assert_eq!(admin.item(&at("Tasks/2")).await.unwrap().id, second);
        let values = vec![(title, text("Call Bert")), (effort, Some(ColumnValue::Number(0.1)))];
        admin.set_values(&first.into(), ValuesChange { values, ..ValuesChange::default() }).await.unwrap();
        let changed = admin.item(&first.into()).await.unwrap();
        assert_eq!(changed.shown_name(), "Call Bert");
        assert_ne!(changed.etag(), item.etag());
        let read = admin.values(&first.into()).await.unwrap();
        assert_eq!(read, [(title, ColumnValue::Text("Call Bert".into())), (effort, ColumnValue::Number(0.1))]);
        // Saving the same values again makes no version.
        let same = ValuesChange { values: vec![(title, text("Call Bert"))], ..ValuesChange::default() };
        admin.set_values(&first.into(), same).await.unwrap();
        assert_eq!(admin.item(&first.into()).await.unwrap().etag(), changed.etag());
        let versions = admin.row_revisions(&first.into(), None, 10).await.unwrap();
        let seen: Vec<_> = versions.items.iter().map(|version| version.values.clone()).collect();
        assert_eq!(seen, [read.clone(), vec![(title, ColumnValue::Text("Call Anna".into()))]]);
        let entry = admin.delete(&first.into()).await.unwrap();
        let collection = item.collection_id;
        let binned = admin.recycled(collection, Bin::Mine, None, 10).await.unwrap().items;
        assert_eq!((binned[0].kind, binned[0].name.as_str()), (NodeKind::Row, "Call Bert"));
        assert_eq!(titles(&admin, &list, &ListRequest::default(), 10).await, ["Write"]);
        let by_effort = ListRequest { sort: Sort::Column(effort), ..ListRequest::default() };
        assert_eq!(titles(&admin, &list, &by_effort, 10).await, ["Write"]);
        admin.restore(collection, entry).await.unwrap();
        assert_eq!(titles(&admin, &list, &by_effort, 10).await, ["Call Bert", "Write"]);
        assert_eq!(admin.values(&first.into()).await.unwrap(), read);
        // Numbers are not used again, not even that of a row that is gone for good.
        let entry = admin.delete(&second.into()).await.unwrap();
        admin.purge(collection, entry, Bin::Site).await.unwrap();
        admin.purge(collection, entry, Bin::Site).await.unwrap_or_default();
        let third = admin.add_row(&list, vec![(title, text("Third"))]).await.unwrap();
        assert_eq!(admin.item(&third.into()).await.unwrap().name, "3");
        assert_eq!(titles(&admin, &list, &by_effort, 1).await, ["Call Bert", "Third"]);
        // The list goes and comes back as a whole.
        let entry = admin.delete(&list).await.unwrap();
        assert_eq!(admin.item(&third.into()).await.unwrap_err().code(), Code::NotFound);
        admin.restore(collection, entry).await.unwrap();
        assert_eq!(titles(&admin, &list, &by_effort, 1).await, ["Call Bert", "Third"]);
        let entry = admin.delete(&list).await.unwrap();
        admin.purge(collection, entry, Bin::Site).await.unwrap();
        // Rows are no documents, so the counters of the site are what they were.
        let usage = admin.site_collection(collection).await.unwrap().usage.unwrap();
        assert_eq!((usage.documents, usage.used_bytes), (0, 0));
        let again = admin.create_list(&at(""), &name("Tasks"), &name("Task")).await.unwrap();
        assert_eq!(titles(&admin, &again.id.into(), &ListRequest::default(), 9).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_column_sorts_rows_with_empty_fields_last() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (berta, _) = farm.person("berta").await;
        let (list, title) = new_list(&admin).await;
        let note = column(&admin, &list, "Note", ColumnKind::Note).await;
        let number = column(&admin, &list, "Effort", ColumnKind::Number).await;
        let due = column(&admin, &list, "Due", ColumnKind::Date).await;
        let person = column(&admin, &list, "Owner", ColumnKind::Person).await;
        let done = column(&admin, &list, "Done", ColumnKind::YesNo).await;
        let add = |i: usize, empty: bool| {
            let day = |days: i64| Timestamp::from_micros(days * 86_400_000_000);
            let mut set = vec![(title, text(&format!("{i:02}")))];
            if !empty {
                set.extend([
                    (note, text(["b\nb", "A", "ö"][i % 3])),
                    (number, Some(ColumnValue::Number([1e300, -0.5, 0.0][i % 3]))),
                    (due, Some(ColumnValue::Date(day([-9, 3_000_000, 5][i % 3])))),
                    (person, Some(ColumnValue::Person([berta, admin.principal().id, berta][i % 3]))),
                    (done, Some(ColumnValue::YesNo(i.is_multiple_of(3)))),
                ]);
            }
            RowChange::Add { set }
        };
        let changes = (0..21).map(|i| add(i, i % 5 == 4)).collect();
        let outcomes = change(&admin, &list, changes).await;
        assert!(outcomes.iter().all(|outcome| outcome.error.is_none() && outcome.row.is_some()), "{outcomes:?}");
        // A column that is created later has empty fields in all rows.
        let later = column(&admin, &list, "Later", ColumnKind::Text).await;
        let whole = async |sort: Sort, descending: bool| {
            let request = ListRequest { sort, descending, ..ListRequest::default() };
            let all = titles(&admin, &list, &request, 100).await;
            assert_eq!(all.len(), 21, "{sort:?}");
            for limit in [1, 4] {
                assert_eq!(titles(&admin, &list, &request, limit).await, all, "{sort:?} {descending} {limit}");
            }
            all
        };
        let group = |rest: usize| (0..21).filter(move |i| i % 5 != 4 && i % 3 == rest).map(|i| format!("{i:02}"));
        let empty: Vec<String> = (0..21).filter(|i| i % 5 == 4).map(|i| format!("{i:02}")).collect();
        for (column, order) in [(note, [1, 0, 2]), (number, [1, 2, 0]), (due, [0, 2, 1])] {
            let rising: Vec<String> = order.into_iter().flat_map(group).chain(empty.clone()).collect();
            assert_eq!(whole(Sort::Column(column), false).await, rising);
            let falling = whole(Sort::Column(column), true).await;
            let mut expected: Vec<String> = order.into_iter().rev().flat_map(|rest| group(rest).rev()).collect();
            expected.extend(empty.clone());
            assert_eq!(falling, expected);
        }
        for sort in [Sort::Column(person), Sort::Column(done)] {
            for descending in [false, true] {
                assert_eq!(whole(sort, descending).await[17..], empty);
            }
        }
        let added = whole(Sort::Column(later), false).await;
        assert_eq!(added, whole(Sort::Name, false).await);
        assert!(added.is_sorted());
        assert!(whole(Sort::Name, true).await.iter().rev().is_sorted());
        assert_eq!(whole(Sort::Modified, false).await.len(), 21);
        // Words look for titles, since a row's name is a number.
        let filter = Filter {
            name: "1".into(),
            values: vec![(done, ValueTest::Is(ColumnValue::YesNo(true)))],
            ..Filter::default()
        };
        let request = ListRequest { filter, ..ListRequest::default() };
        assert_eq!(titles(&admin, &list, &request, 2).await, ["12", "15", "18"]);
        admin.delete_column(&list, number).await.unwrap();
        assert_eq!(whole(Sort::Column(number), false).await, added);
        assert_eq!(admin.delete_column(&list, title).await.unwrap_err().code(), Code::TitleColumn);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_disturb_each_other_only_in_the_same_field() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let state = column(&admin, &list, "State", ColumnKind::Choice(vec!["open".into(), "done".into()])).await;
        let note = column(&admin, &list, "Note", ColumnKind::Note).await;
        let row = admin.add_row(&list, vec![(title, text("a")), (state, text("open"))]).await.unwrap();
        let old = admin.item(&row.into()).await.unwrap().version_id;
        let edit = |revision, was: Vec<_>, set: Vec<_>| RowChange::Edit { row, revision, was, set };
        let outcomes = change(&admin, &list, vec![edit(old, vec![], vec![(note, text("first"))])]).await;
        assert_eq!(code(&outcomes[0]), None);
        assert_ne!(outcomes[0].revision, old);
        // Another field, by someone who read the row before: made, since that field is as it was.
        let other = edit(old, vec![(state, text("open"))], vec![(state, text("done"))]);
        assert_eq!(code(&change(&admin, &list, vec![other]).await[0]), None);
        // The same field: refused, with the present value.
        let late = edit(old, vec![(state, text("open"))], vec![(state, text("open"))]);
        let outcome = change(&admin, &list, vec![late]).await.pop().unwrap();
        assert_eq!(code(&outcome), Some(Code::ValueChanged));
        assert_eq!(outcome.present, [(state, text("done"))]);
        // A field whose former value is not told counts as changed.
        let blind = edit(old, vec![(state, text("done"))], vec![(note, text("x"))]);
        assert_eq!(code(&change(&admin, &list, vec![blind]).await[0]), Some(Code::ValueChanged));
        let values = admin.values(&row.into()).await.unwrap();
        assert_eq!(values[1..], [(state, ColumnValue::Text("done".into())), (note, ColumnValue::Text("first".into()))]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_changes_all_or_nothing_when_it_is_to() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let effort = column(&admin, &list, "Effort", ColumnKind::Number).await;
        let row = admin.add_row(&list, vec![(title, text("old"))]).await.unwrap();
        let changes = || {
            vec![
                RowChange::Add { set: vec![(title, text("new"))] },
                RowChange::Add { set: vec![(effort, Some(ColumnValue::Number(1.0)))] },
                RowChange::Edit { row, revision: None, was: vec![], set: vec![(title, None)] },
                RowChange::Edit { row: Id::new(7), revision: None, was: vec![], set: vec![] },
                RowChange::Add { set: vec![(title, text("x")), (effort, text("no number"))] },
                RowChange::Add { set: vec![(Id::new(7), text("x"))] },
            ]
        };
        let all = admin.change_rows(&list, changes(), true).await.unwrap();
        let codes = [
            None,
            Some(Code::ColumnRequired),
            Some(Code::ColumnRequired),
            Some(Code::NotFound),
            Some(Code::InvalidValue),
            Some(Code::NotFound),
        ];
        assert_eq!(all.iter().map(code).collect::<Vec<_>>(), codes);
        assert_eq!(titles(&admin, &list, &ListRequest::default(), 9).await, ["old"]);
        let some = admin.change_rows(&list, changes(), false).await.unwrap();
        assert_eq!(some.iter().map(code).collect::<Vec<_>>(), codes);
        assert_eq!(titles(&admin, &list, &ListRequest::default(), 9).await, ["old", "new"]);
        // A request with a key is made once.
        let once = admin.clone().idempotent("paste", Digest::new([1; 32]));
        let paste =
            vec![RowChange::Add { set: vec![(title, text("p"))] }, RowChange::Add { set: vec![(title, text("q"))] }];
        let first = once.change_rows(&list, paste.clone(), true).await.unwrap();
        let second = once.change_rows(&list, paste, true).await.unwrap();
        let rows = |outcomes: &[RowOutcome]| outcomes.iter().map(|outcome| outcome.row).collect::<Vec<_>>();
        assert_eq!(rows(&first), rows(&second));
        assert_eq!(titles(&admin, &list, &ListRequest::default(), 9).await, ["old", "new", "p", "q"]);
        let long = (0..5).map(|n| format!("Note {n}"));
        let mut set = vec![(title, text("long"))];
        for label in long {
            set.push((column(&admin, &list, &label, ColumnKind::Note).await, text(&"ä".repeat(60_000))));
        }
        assert_eq!(admin.add_row(&list, set).await.unwrap_err().code(), Code::FieldsTooLong);
        let twice = vec![RowChange::Delete { row, revision: None }, RowChange::Delete { row, revision: None }];
        assert!(admin.change_rows(&list, twice, false).await.is_err());
        let many = vec![RowChange::Add { set: vec![(title, text("m"))] }; 1_001];
        assert_eq!(admin.change_rows(&list, many, true).await.unwrap_err().code(), Code::TooMuchAtOnce);
        let many = vec![RowChange::Add { set: vec![(title, text("m"))] }; 1_000];
        assert_eq!(admin.change_rows(&list, many, true).await.unwrap().len(), 1_000);
        assert_eq!(titles(&admin, &list, &ListRequest::default(), 1_000).await.len(), 1_004);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_decide_row_by_row() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let open = admin.add_row(&list, vec![(title, text("open"))]).await.unwrap();
        let hidden = admin.add_row(&list, vec![(title, text("hidden"))]).await.unwrap();
        let readable = admin.add_row(&list, vec![(title, text("readable"))]).await.unwrap();
        let (berta_id, _) = farm.person("berta").await;
        admin.grant(&at(""), berta_id, Role::CONTRIBUTE).await.unwrap();
        for row in [hidden, readable] {
            admin.break_inheritance(&row.into(), false).await.unwrap();
        }
        admin.grant(&readable.into(), berta_id, Role::READ).await.unwrap();
        let berta = farm.session(berta_id).await;
        for sort in [Sort::Name, Sort::Column(title), Sort::Modified] {
            let request = ListRequest { sort, ..ListRequest::default() };
            let mut seen = titles(&berta, &list, &request, 1).await;
            seen.sort();
            assert_eq!(seen, ["open", "readable"], "{sort:?}");
        }
        let read = berta.rows_by_id(&list, vec![readable, hidden, open, Id::new(12_345)]).await.unwrap();
        let read = read.page.items.iter().map(|item| item.shown_name()).collect::<Vec<_>>();
        assert_eq!(read, ["open", "readable"], "in the order in which they were added");
        let edit = |row: Id| RowChange::Edit { row, revision: None, was: vec![], set: vec![(title, text("x"))] };
        let delete = |row: Id| RowChange::Delete { row, revision: None };
        let absent = Id::new(12_345);
        let outcomes = change(&berta, &list, vec![edit(open), edit(readable), edit(hidden), edit(absent)]).await;
        assert_eq!(code(&outcomes[0]), None);
        assert_eq!(outcomes[1].error.as_ref().unwrap().lack().unwrap().right, Right::Edit);
        let message = |outcome: &RowOutcome| outcome.error.as_ref().unwrap().message().to_owned();
        assert_eq!(message(&outcomes[2]), message(&outcomes[3]));
        assert!(outcomes[2].present.is_empty() && outcomes[2].revision.is_none());
        let outcomes = change(&berta, &list, vec![delete(readable), delete(hidden)]).await;
        assert!(outcomes.iter().all(|outcome| outcome.error.is_some()));
        assert_eq!(berta.row_revisions(&hidden.into(), None, 9).await.unwrap_err().code(), Code::NotFound);
        // A row of another list is none of this one.
        let other = admin.create_list(&at(""), &name("Other"), &name("Task")).await.unwrap();
        let outcomes = change(&admin, &other.id.into(), vec![delete(open)]).await;
        assert_eq!(code(&outcomes[0]), Some(Code::NotFound));
        assert!(admin.rows_by_id(&other.id.into(), vec![open]).await.unwrap().page.items.is_empty());
        // Who may only read adds nothing.
        let (carla_id, _) = farm.person("carla").await;
        admin.grant(&at(""), carla_id, Role::READ).await.unwrap();
        let carla = farm.session(carla_id).await;
        let error = carla.add_row(&list, vec![(title, text("x"))]).await.unwrap_err();
        assert_eq!(error.lack().unwrap().right, Right::Add);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_holds_rows_and_nothing_else() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let row = admin.add_row(&list, vec![(title, text("a"))]).await.unwrap();
        let error = admin.create_folder(&list, &name("Folder")).await.unwrap_err();
        assert_eq!(error.code(), Code::WrongKind);
        let error = crate::support::put(&admin, "Tasks/a.txt", "x").await.unwrap_err();
        assert!(!error.message().is_empty());
        assert_eq!(admin.item(&at("Tasks/a.txt")).await.unwrap_err().code(), Code::NotFound);
        let documents = Target::Id(admin.item(&at("Documents")).await.unwrap().id);
        assert_eq!(admin.move_to(&row.into(), &documents, None).await.unwrap_err().code(), Code::WrongKind);
        assert_eq!(admin.copy_to(&row.into(), &documents, None).await.unwrap_err().code(), Code::WrongKind);
        assert_eq!(admin.rename(&row.into(), &name("b")).await.unwrap_err().code(), Code::WrongKind);
        let error = admin.change_rows(&documents, vec![RowChange::Add { set: vec![] }], true).await.unwrap_err();
        assert_eq!(error.code(), Code::WrongKind);
        let drafts = LibrarySettings { versioning: model::Versioning::MajorMinor, ..LibrarySettings::default() };
        assert!(admin.change_library(&list, drafts).await.is_err());
        // Clients for files see no lists.
        assert_eq!(
            admin.details(&list, repository::DetailOptions::default()).await.unwrap_err().code(),
            Code::NotFound
        );
        let below = admin.details_below(&at(""), repository::DetailOptions::default(), None, 100).await.unwrap();
        assert!(below.items.iter().all(|details| details.item.kind != NodeKind::List));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_keeps_as_many_versions_as_its_settings_say() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let settings = LibrarySettings { major_limit: 3, ..LibrarySettings::default() };
        admin.change_library(&list, settings.clone()).await.unwrap();
        let row = admin.add_row(&list, vec![(title, text("0"))]).await.unwrap();
        let save = async |word: &str| {
            let values = vec![(title, text(word))];
            admin.set_values(&row.into(), ValuesChange { values, ..ValuesChange::default() }).await.unwrap();
        };
        let kept = async || -> Vec<String> {
            let (mut words, mut before) = (Vec::new(), None);
            loop {
                let page = admin.row_revisions(&row.into(), before, 2).await.unwrap();
                for version in page.items {
                    let ColumnValue::Text(word) = version.values[0].1.clone() else { panic!("a title is a text") };
                    words.push(word);
                }
                before = page.next;
                if before.is_none() {
                    return words;
                }
            }
        };
        for number in 1..6 {
            save(&number.to_string()).await;
        }
        assert_eq!(kept().await, ["5", "4", "3"]);
        let none = LibrarySettings { versioning: model::Versioning::None, ..settings };
        admin.change_library(&list, none).await.unwrap();
        save("6").await;
        assert_eq!(kept().await, ["6", "4", "3"]);
    })
    .await;
}

/// Few rows are found by the index of a column and sorted, many by a walk in the order of the listing. Both show the
/// same as a plain filter and sort.
#[tokio::test(flavor = "multi_thread")]
async fn filters_show_the_same_whether_they_leave_few_rows_or_many() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (berta, _) = farm.person("berta").await;
        let (list, title) = new_list(&admin).await;
        let number = column(&admin, &list, "Number", ColumnKind::Number).await;
        let word = column(&admin, &list, "Word", ColumnKind::Text).await;
        let person = column(&admin, &list, "Owner", ColumnKind::Person).await;
        const ROWS: usize = 2_500;
        // `word` is the same for many rows, `number` for few, and each third row has no number. Some words are longer
        // than their entry in the index.
        let long = format!("{}Tail", "x".repeat(150));
        let word_of = |i: usize| match i % 50 {
            0 | 25 => "Rare",
            1 => long.as_str(),
            _ => "Usual",
        };
        let number_of = |i: usize| (!i.is_multiple_of(3)).then_some((i * 7 % 40) as f64);
        for start in (0..ROWS).step_by(1_000) {
            let add = |i: usize| RowChange::Add {
                set: vec![
                    (title, text(&format!("{i:04}"))),
                    (word, text(word_of(i))),
                    (number, number_of(i).map(ColumnValue::Number)),
                    (person, Some(ColumnValue::Person([berta, admin.principal().id][i % 2]))),
                ],
            };
            let changes = (start..ROWS.min(start + 1_000)).map(add).collect();
            assert!(change(&admin, &list, changes).await.iter().all(|outcome| outcome.error.is_none()));
        }
        let usual = (word, ValueTest::Is(ColumnValue::Text("Usual".into())));
        let rare = (word, ValueTest::Is(ColumnValue::Text("Rare".into())));
        let some = (number, ValueTest::Between(3.0, 9.5));
        let contains = |column, part: &str| (column, ValueTest::Contains(part.into()));
        let is_usual = |i: usize| !matches!(i % 50, 0 | 1 | 25);
        type Passes<'a> = &'a dyn Fn(usize, Option<f64>) -> bool;
        let cases: [(Vec<(Id, ValueTest)>, Passes<'_>); 8] = [
            (vec![usual.clone()], &|i, _| is_usual(i)),
            (vec![rare.clone()], &|i, _| i.is_multiple_of(25)),
            (vec![usual, some], &|i, n| is_usual(i) && n.is_some_and(|n| (3.0..=9.5).contains(&n))),
            (vec![contains(title, "1"), rare], &|i, _| i.is_multiple_of(25) && format!("{i:04}").contains('1')),
            (vec![contains(word, "ARE")], &|i, _| i.is_multiple_of(25)),
            (vec![contains(word, "sua")], &|i, _| is_usual(i)),
            (vec![contains(word, "xtail")], &|i, _| i % 50 == 1),
            (vec![contains(title, "24"), contains(word, "usual")], &|i, _| {
                is_usual(i) && format!("{i:04}").contains("24")
            }),
        ];
        for (values, passes) in cases {
            let fits: Vec<usize> = (0..ROWS).filter(|i| passes(*i, number_of(*i))).collect();
            for sort in [Sort::Name, Sort::Column(number), Sort::Column(person), Sort::Person, Sort::Modified] {
                for descending in [false, true] {
                    let filter = Filter { values: values.clone(), ..Filter::default() };
                    let request = ListRequest { sort, descending, filter, ..ListRequest::default() };
                    let seen = titles(&admin, &list, &request, 400).await;
                    let mut sorted = seen.clone();
                    sorted.sort();
                    let expected: Vec<String> = fits.iter().map(|i| format!("{i:04}")).collect();
                    assert_eq!(sorted, expected, "{sort:?} {descending} {values:?}");
                    if sort == Sort::Column(number) {
                        let keys: Vec<Option<f64>> =
                            seen.iter().map(|title| number_of(title.parse().unwrap())).collect();
                        let filled: Vec<f64> = keys.iter().flatten().copied().collect();
                        assert!(keys[..filled.len()].iter().all(Option::is_some), "empty fields are last");
                        assert!(if descending { filled.iter().rev().is_sorted() } else { filled.is_sorted() });
                    }
                    if sort == Sort::Name {
                        assert!(if descending { seen.iter().rev().is_sorted() } else { seen.is_sorted() });
                    }
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_keeps_its_kind_and_its_values() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let effort = column(&admin, &list, "Effort", ColumnKind::Number).await;
        let row = admin.add_row(&list, vec![(title, text("a")), (effort, number(2.0))]).await.unwrap();
        for kind in [ColumnKind::Text, ColumnKind::Date, ColumnKind::Choice(vec!["x".into()])] {
            let change = ColumnChange {
                name: name("Effort"),
                kind,
                required: false,
                content_type_id: None,
                options: ColumnOptions::default(),
            };
            let refused = admin.change_column(&list, effort, change).await.unwrap_err();
            assert!(refused.message().contains("create another column"), "{refused:?}");
        }
        assert_eq!(value(&admin, row, effort).await, number(2.0));
    })
    .await;
}
