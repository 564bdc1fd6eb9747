//! Tests of the limits of formulas, default values and options of columns, on both engines.

use crate::support::rows::{change, code, column, default, formula, name, new_list, number, text, value, with_options};
use crate::support::{at, each_farm, put};
use model::{Code, ColumnKind, ColumnValue, Id};
use repository::{ColumnChange, ColumnOptions, RowChange, Target};

#[tokio::test(flavor = "multi_thread")]
async fn long_work_and_long_texts_end_as_empty_fields() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let note = column(&admin, &list, "Note", ColumnKind::Note).await;
        let long = "x".repeat(50_000);
        let row = admin.add_row(&list, vec![(title, text("a")), (note, text(&long))]).await.unwrap();
        // The first copy fits into what calculated texts have together, the second one does not.
        let copies = [
            with_options(&admin, &list, "First", ColumnKind::Note, formula("[Note]")).await.unwrap(),
            with_options(&admin, &list, "Second", ColumnKind::Note, formula("[Note]")).await.unwrap(),
        ];
        assert_eq!(value(&admin, row, copies[0]).await, text(&long));
        assert_eq!(value(&admin, row, copies[1]).await, None);
        let short = with_options(&admin, &list, "Short", ColumnKind::Text, formula("left([Note], 3)")).await.unwrap();
        assert_eq!(value(&admin, row, short).await, text("xxx"));
        // All formulas of a row have so many steps together.
        let work = format!("sum({})", vec!["len([Note])"; 20].join(", "));
        let mut counts = Vec::new();
        for number in 0..8 {
            let label = format!("Work {number}");
            counts.push(with_options(&admin, &list, &label, ColumnKind::Number, formula(&work)).await.unwrap());
        }
        assert_eq!(value(&admin, row, counts[0]).await, number(1_000_000.0));
        assert_eq!(value(&admin, row, counts[7]).await, None);

        let unique = || ColumnOptions { unique: true, ..ColumnOptions::default() };
        for number in 0..10 {
            let label = format!("Unique {number}");
            with_options(&admin, &list, &label, ColumnKind::Text, unique()).await.unwrap();
        }
        let refused = with_options(&admin, &list, "One more", ColumnKind::Text, unique()).await.unwrap_err();
        assert_eq!(refused.code(), Code::TooMany);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn default_values_and_formulas_have_limits_together() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let library = at("Documents");
        let long = default(&format!("replace(\"{}\", \"a\", \"{}\")", "a".repeat(250), "\u{1F600}".repeat(200)));
        let mut notes = Vec::new();
        for number in 0..4 {
            let label = format!("Note {number}");
            notes.push(with_options(&admin, &library, &label, ColumnKind::Note, long.clone()).await);
        }
        let saved = put(&admin, "Documents/a.txt", "a").await.unwrap();
        let values = admin.values(&Target::Id(saved.id)).await.unwrap();
        let bytes = |(_, value): &(Id, ColumnValue)| if let ColumnValue::Text(text) = value { text.len() } else { 0 };
        assert!(values.iter().map(bytes).sum::<usize>() <= 64 << 10);

        let (list, title) = new_list(&admin).await;
        let joined = vec!["[Task]"; 101].join(" & ");
        let refused = with_options(&admin, &list, "Joined", ColumnKind::Text, formula(&joined)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidFormula);
        let wordy = ColumnOptions { description: "d".repeat(1_000), ..ColumnOptions::default() };
        let mut count = 0;
        let refused = loop {
            let label = format!("Wordy {count}");
            match with_options(&admin, &list, &label, ColumnKind::Number, wordy.clone()).await {
                Ok(_) => count += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((refused.code(), count), (Code::TooMany, 64));
        // Minus 0 is 0, in the database and within a request.
        let unique = ColumnChange {
            name: name("Wordy 0"),
            kind: ColumnKind::Number,
            required: false,
            content_type_id: None,
            options: ColumnOptions { unique: true, ..ColumnOptions::default() },
        };
        let columns = admin.columns(&list).await.unwrap().0;
        let first = columns.iter().find(|column| column.name == "Wordy 0").unwrap().id;
        admin.change_column(&list, first, unique).await.unwrap();
        let add = |of: f64| RowChange::Add { set: vec![(title, text("t")), (first, number(of))] };
        let codes: Vec<_> = change(&admin, &list, vec![add(0.0), add(-0.0)]).await.iter().map(code).collect();
        assert_eq!(codes, [None, Some(Code::ValueTaken)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_too_much_work_is_refused_in_part_and_loses_nothing() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let note = column(&admin, &list, "Note", ColumnKind::Note).await;
        let work = format!("sum({})", vec!["len([Note])"; 20].join(", "));
        let counted = with_options(&admin, &list, "Counted", ColumnKind::Number, formula(&work)).await.unwrap();
        with_options(&admin, &list, "Again", ColumnKind::Number, formula(&work)).await.unwrap();
        let long = "x".repeat(50_000);
        let rows: Vec<Id> = {
            let add = |_| RowChange::Add { set: vec![(title, text("t")), (note, text(&long))] };
            let outcomes = change(&admin, &list, (0..150).map(add).collect()).await;
            assert!(outcomes.iter().all(|outcome| [None, Some(Code::TooMuchAtOnce)].contains(&code(outcome))));
            outcomes.iter().filter_map(|outcome| outcome.row).collect()
        };
        assert!((20..150).contains(&rows.len()), "{}", rows.len());
        for row in &rows {
            assert_eq!(value(&admin, *row, counted).await, number(1_000_000.0));
        }
        // Another formula is computed for all rows, in as many steps as it takes.
        let twice = ColumnChange {
            name: name("Counted"),
            kind: ColumnKind::Number,
            required: false,
            content_type_id: None,
            options: formula(&format!("2 * {work}")),
        };
        admin.change_column(&list, counted, twice).await.unwrap();
        let mut turns = 0;
        while farm.repository.recompute().await.unwrap() == 0 {
            turns += 1;
            assert!(turns < 100);
        }
        for row in &rows {
            assert_eq!(value(&admin, *row, counted).await, number(2_000_000.0));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_cannot_be_are_refused() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, _) = new_list(&admin).await;
        let choice = || ColumnKind::Choice(vec!["High".into()]);
        let both = ColumnOptions { default: "1".into(), ..formula("1") };
        let said = ColumnOptions { message: "m".into(), ..ColumnOptions::default() };
        let checked = |check: &str| ColumnOptions { check: check.into(), ..ColumnOptions::default() };
        let cases = [
            (ColumnKind::Number, formula("[Nothing] + 1")),
            (ColumnKind::Number, formula("\"text\"")),
            (ColumnKind::Date, formula("today()")),
            (ColumnKind::Number, formula("1 +")),
            (ColumnKind::Number, both),
            (choice(), formula("\"High\"")),
            (ColumnKind::Text, default("[Task]")),
            (ColumnKind::Number, default("\"1\"")),
            (choice(), default("\"Middle\"")),
            (ColumnKind::Number, default("1 / 0")),
            (ColumnKind::Number, checked("[Task]")),
            (ColumnKind::Number, said),
            (ColumnKind::Number, ColumnOptions { message: "m\u{7}".into(), ..checked("true") }),
            (ColumnKind::Number, ColumnOptions { description: "d".repeat(1_001), ..ColumnOptions::default() }),
        ];
        for (kind, options) in cases {
            let refused = with_options(&admin, &list, "New", kind, options.clone()).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidFormula, "{options:?}");
        }
        assert_eq!(admin.columns(&list).await.unwrap().0.len(), 1);
    })
    .await;
}
