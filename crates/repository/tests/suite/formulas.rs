//! Tests of calculated columns, default values, checks and unique columns, on both engines.

use crate::support::rows::{
    change, code, column, default, formula, name, new_list, number, set, text, titles, value, with_options,
};
use crate::support::{at, each_farm, put};
use model::{Code, ColumnKind, ColumnValue, Id};
use repository::{ColumnChange, ColumnOptions, Filter, ListRequest, RowChange, Sort, Target, ValueTest};

#[tokio::test(flavor = "multi_thread")]
async fn calculated_columns_follow_the_values_that_they_read() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let price = column(&admin, &list, "Price", ColumnKind::Number).await;
        let pieces = column(&admin, &list, "Pieces", ColumnKind::Number).await;
        let early = admin.add_row(&list, vec![(title, text("early")), (price, number(2.0)), (pieces, number(3.0))]);
        let early = early.await.unwrap();
        let total = with_options(&admin, &list, "Total", ColumnKind::Number, formula("[price] * [Pieces]"));
        let total = total.await.unwrap();
        // A formula reads another one, whatever the order of the columns.
        let taxed = with_options(&admin, &list, "Taxed", ColumnKind::Number, formula("[Total] * 1.5")).await.unwrap();
        // Rows that were there before are computed with the column.
        assert_eq!(value(&admin, early, total).await, number(6.0));
        assert_eq!(value(&admin, early, taxed).await, number(9.0));

        let add = |name: &str, of: f64| RowChange::Add {
            set: vec![(title, text(name)), (price, number(of)), (pieces, number(10.0))],
        };
        let rows: Vec<Id> = change(&admin, &list, vec![add("b", 5.0), add("a", 7.0), add("c", 1.0)])
            .await
            .iter()
            .filter_map(|outcome| outcome.row)
            .collect();
        assert_eq!(value(&admin, rows[0], taxed).await, number(75.0));
        set(&admin, rows[0], price, number(8.0)).await.unwrap();
        assert_eq!(value(&admin, rows[0], taxed).await, number(120.0));
        set(&admin, rows[2], pieces, None).await.unwrap();
        assert_eq!(value(&admin, rows[2], total).await, None);

        // They are sorted and filtered by as other values are, and empty ones come last.
        let request = ListRequest { sort: Sort::Column(taxed), ..ListRequest::default() };
        assert_eq!(titles(&admin, &list, &request, 2).await, ["early", "a", "b", "c"]);
        let filter = Filter { values: vec![(taxed, ValueTest::Between(100.0, 1e9))], ..Filter::default() };
        let request = ListRequest { filter, ..request };
        assert_eq!(titles(&admin, &list, &request, 9).await, ["a", "b"]);

        // Nobody sets them.
        assert_eq!(set(&admin, early, total, number(1.0)).await.unwrap_err().code(), Code::InvalidValue);
        let outcome =
            change(&admin, &list, vec![RowChange::Add { set: vec![(title, text("x")), (total, number(1.0))] }]);
        assert_eq!(code(&outcome.await[0]), Some(Code::InvalidValue));

        // A renamed column keeps its readers, one that is read cannot be removed, and circles are refused.
        let renamed = ColumnChange {
            name: name("Unit price"),
            kind: ColumnKind::Number,
            required: false,
            content_type_id: None,
            options: ColumnOptions::default(),
        };
        admin.change_column(&list, price, renamed).await.unwrap();
        let columns = admin.columns(&list).await.unwrap().0;
        let shown = |id: Id| columns.iter().find(|column| column.id == id).unwrap().options.formula.clone();
        assert_eq!(shown(total), "[Unit price] * [Pieces]");
        assert_eq!(admin.delete_column(&list, pieces).await.unwrap_err().code(), Code::ColumnRead);
        let circle = ColumnChange {
            name: name("Total"),
            kind: ColumnKind::Number,
            required: false,
            content_type_id: None,
            options: formula("[Taxed] + 1"),
        };
        let refused = admin.change_column(&list, total, circle.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidFormula);
        assert!(refused.message().contains("[Total]") && refused.message().contains("[Taxed]"), "{refused:?}");

        // Another formula is computed for all rows.
        let sum = ColumnChange { options: formula("[Unit price] + [Pieces]"), ..circle };
        admin.change_column(&list, total, sum).await.unwrap();
        assert_eq!(value(&admin, early, taxed).await, number(7.5));
        assert_eq!(
            titles(&admin, &list, &ListRequest { sort: Sort::Column(total), ..ListRequest::default() }, 9).await,
            ["early", "a", "b", "c"]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_are_computed_in_steps() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let pieces = column(&admin, &list, "Pieces", ColumnKind::Number).await;
        let mut rows = Vec::new();
        for start in [0, 700] {
            let add = |i: i32| RowChange::Add {
                set: vec![(title, text(&format!("{i:04}"))), (pieces, number(f64::from(i)))],
            };
            let outcomes = change(&admin, &list, (start..start + 700).map(add).collect()).await;
            rows.extend(outcomes.iter().filter_map(|outcome| outcome.row));
        }
        let twice = with_options(&admin, &list, "Twice", ColumnKind::Number, formula("[Pieces] * 2")).await.unwrap();
        assert_eq!(value(&admin, rows[3], twice).await, number(6.0));
        assert_eq!(value(&admin, rows[1399], twice).await, None);
        // A row that changes in the meantime is right at once.
        set(&admin, rows[1398], pieces, number(1.0)).await.unwrap();
        assert_eq!(value(&admin, rows[1398], twice).await, number(2.0));
        assert_eq!(farm.repository.recompute().await.unwrap(), 1);
        assert_eq!(value(&admin, rows[1399], twice).await, number(2798.0));
        assert_eq!(value(&admin, rows[1398], twice).await, number(2.0));
        assert_eq!(farm.repository.recompute().await.unwrap(), 0);
        // The revisions of the rows are those of before.
        let versions = admin.row_revisions(&Target::Id(rows[1399]), None, 10).await.unwrap();
        assert_eq!(versions.items.len(), 1);
        let request = ListRequest { sort: Sort::Column(twice), descending: true, ..ListRequest::default() };
        let sorted = titles(&admin, &list, &request, 1_000).await;
        assert_eq!((sorted.len(), &*sorted[0], &*sorted[1398]), (1_400, "1399", "0001"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_rows_and_documents_get_default_values() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let choices = ColumnKind::Choice(vec!["High".into(), "Low".into()]);
        let priority = with_options(&admin, &list, "Priority", choices, default("\"High\"")).await.unwrap();
        let author = with_options(&admin, &list, "Author", ColumnKind::Person, default("me()")).await.unwrap();
        let shown = with_options(&admin, &list, "Shown", ColumnKind::Text, formula("[Task] & \": \" & [Priority]"));
        let shown = shown.await.unwrap();
        let row = admin.add_row(&list, vec![(title, text("a"))]).await.unwrap();
        assert_eq!(value(&admin, row, priority).await, text("High"));
        assert_eq!(value(&admin, row, author).await, Some(ColumnValue::Person(admin.principal().id)));
        assert_eq!(value(&admin, row, shown).await, text("a: High"));
        // What an author empties stays empty, and an edit brings nothing back.
        let row = admin.add_row(&list, vec![(title, text("b")), (priority, None)]).await.unwrap();
        assert_eq!(value(&admin, row, priority).await, None);
        set(&admin, row, title, text("c")).await.unwrap();
        assert_eq!(value(&admin, row, priority).await, None);
        // A choice that is gone is nobody's value.
        let low = ColumnChange {
            name: name("Priority"),
            kind: ColumnKind::Choice(vec!["Low".into()]),
            required: false,
            content_type_id: None,
            options: default("\"Low\""),
        };
        let high = ColumnChange { options: default("\"High\""), ..low.clone() };
        assert_eq!(admin.change_column(&list, priority, high).await.unwrap_err().code(), Code::InvalidFormula);
        admin.change_column(&list, priority, low).await.unwrap();

        let library = at("Documents");
        let state = with_options(&admin, &library, "State", ColumnKind::Text, default("\"new\"")).await.unwrap();
        let saved = put(&admin, "Documents/a.txt", "a").await.unwrap();
        assert_eq!(value(&admin, saved.id, state).await, text("new"));
        let again = put(&admin, "Documents/a.txt", "b").await.unwrap();
        assert_eq!(again.id, saved.id);
        set(&admin, saved.id, state, None).await.unwrap();
        put(&admin, "Documents/a.txt", "c").await.unwrap();
        assert_eq!(value(&admin, saved.id, state).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_refuse_values_and_leave_other_fields_alone() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let begin = column(&admin, &list, "Begin", ColumnKind::Number).await;
        let old = admin.add_row(&list, vec![(title, text("old")), (begin, number(9.0))]).await.unwrap();
        let options = ColumnOptions {
            check: "[End] >= [Begin] or blank([End])".into(),
            message: "Choose a later end".into(),
            ..ColumnOptions::default()
        };
        let end = with_options(&admin, &list, "End", ColumnKind::Number, options).await.unwrap();
        let limit = ColumnOptions { check: "[Size] < 10".into(), ..ColumnOptions::default() };
        let size = with_options(&admin, &list, "Size", ColumnKind::Number, limit).await.unwrap();
        let refused = set(&admin, old, end, number(3.0)).await.unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::CheckFailed, "End: Choose a later end"));
        set(&admin, old, end, number(9.0)).await.unwrap();
        // A change of a field that the check reads is looked at as well.
        assert_eq!(set(&admin, old, begin, number(10.0)).await.unwrap_err().code(), Code::CheckFailed);
        let refused = set(&admin, old, size, number(10.0)).await.unwrap_err();
        assert_eq!(refused.message(), "Size: the values do not fulfil [Size] < 10");
        let outcomes = change(
            &admin,
            &list,
            vec![
                RowChange::Add { set: vec![(title, text("x")), (size, number(11.0))] },
                RowChange::Add { set: vec![(title, text("y")), (size, number(1.0))] },
            ],
        );
        let codes: Vec<_> = outcomes.await.iter().map(code).collect();
        assert_eq!(codes, [Some(Code::CheckFailed), None]);
        // A row that did not fulfil a new check can still be changed elsewhere.
        let stricter = ColumnChange {
            name: name("Begin"),
            kind: ColumnKind::Number,
            required: false,
            content_type_id: None,
            options: ColumnOptions { check: "[Begin] < 5".into(), ..ColumnOptions::default() },
        };
        admin.change_column(&list, begin, stricter).await.unwrap();
        set(&admin, old, title, text("older")).await.unwrap();
        assert_eq!(set(&admin, old, begin, number(8.0)).await.unwrap_err().code(), Code::CheckFailed);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_columns_take_no_value_twice() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let code_of = column(&admin, &list, "Code", ColumnKind::Text).await;
        let add = |name: &str, value: &str| RowChange::Add { set: vec![(title, text(name)), (code_of, text(value))] };
        let rows = change(&admin, &list, vec![add("a", "x1"), add("b", "X1"), add("c", "x2")]).await;
        let rows: Vec<Id> = rows.iter().filter_map(|outcome| outcome.row).collect();
        let unique = ColumnChange {
            name: name("Code"),
            kind: ColumnKind::Text,
            required: false,
            content_type_id: None,
            options: ColumnOptions { unique: true, ..ColumnOptions::default() },
        };
        assert_eq!(admin.change_column(&list, code_of, unique.clone()).await.unwrap_err().code(), Code::ValueTaken);
        set(&admin, rows[1], code_of, text("x3")).await.unwrap();
        admin.change_column(&list, code_of, unique).await.unwrap();
        assert_eq!(set(&admin, rows[1], code_of, text("X2")).await.unwrap_err().code(), Code::ValueTaken);
        set(&admin, rows[2], code_of, text("X2")).await.unwrap();
        let outcomes =
            change(&admin, &list, vec![add("d", "x2"), add("e", "new"), add("f", "NEW"), add("g", "y")]).await;
        let codes: Vec<_> = outcomes.iter().map(code).collect();
        assert_eq!(codes, [Some(Code::ValueTaken), None, Some(Code::ValueTaken), None]);
        // Empty fields are not values, and a deleted row gives its value back.
        let empty = |name: &str| RowChange::Add { set: vec![(title, text(name))] };
        let outcomes = change(&admin, &list, vec![empty("h"), empty("i")]).await;
        assert!(outcomes.iter().all(|outcome| outcome.error.is_none()));
        change(&admin, &list, vec![RowChange::Delete { row: rows[0], revision: None }]).await;
        let outcomes = change(&admin, &list, vec![add("j", "x1")]).await;
        assert_eq!(code(&outcomes[0]), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_at_once_give_a_unique_column_each_value_once() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let options = ColumnOptions { unique: true, ..ColumnOptions::default() };
        let number_of = with_options(&admin, &list, "Number", ColumnKind::Number, options).await.unwrap();
        let mut rows = Vec::new();
        for _ in 0..6 {
            rows.push(admin.add_row(&list, vec![(title, text("row"))]).await.unwrap());
        }
        let writers = rows.iter().map(|row| {
            let (admin, row) = (admin.clone(), *row);
            tokio::spawn(async move { set(&admin, row, number_of, number(7.0)).await.is_ok() })
        });
        let mut taken = 0;
        for writer in writers.collect::<Vec<_>>() {
            taken += usize::from(writer.await.unwrap());
        }
        assert_eq!(taken, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_calculated_where_they_move() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let library = admin.create_library(&at(""), &name("Plans"), model::LibrarySettings::default()).await.unwrap();
        let plans = Target::Id(library.id);
        let here = column(&admin, &at("Documents"), "Pages", ColumnKind::Number).await;
        let saved = put(&admin, "Documents/a.txt", "a").await.unwrap();
        set(&admin, saved.id, here, number(4.0)).await.unwrap();
        let there = column(&admin, &plans, "Pages", ColumnKind::Number).await;
        let counted =
            with_options(&admin, &plans, "Counted", ColumnKind::Text, formula("if(blank([Pages]), \"no\", \"yes\")"));
        let counted = counted.await.unwrap();
        assert_eq!(farm.repository.recompute().await.unwrap(), 1);
        admin.move_to(&Target::Id(saved.id), &plans, None).await.unwrap();
        assert_eq!(farm.repository.recompute().await.unwrap(), 0);
        assert_eq!(value(&admin, saved.id, counted).await, text("yes"));
        set(&admin, saved.id, there, None).await.unwrap();
        assert_eq!(value(&admin, saved.id, counted).await, text("no"));
        // What is in a folder is computed soon after it.
        let folder = admin.create_folder(&at("Documents"), &name("Folder")).await.unwrap();
        let inside = put(&admin, "Documents/Folder/b.txt", "b").await.unwrap();
        set(&admin, inside.id, here, number(4.0)).await.unwrap();
        admin.move_to(&Target::Id(folder.id), &plans, None).await.unwrap();
        assert_eq!(value(&admin, inside.id, counted).await, None);
        assert_eq!(farm.repository.recompute().await.unwrap(), 1);
        assert_eq!(value(&admin, inside.id, counted).await, text("yes"));
    })
    .await;
}
