//! Tests of what lists and columns take at most, on both engines.

use crate::support::rows::{change, code, column, name, new_list, text, titles};
use crate::support::{at, each_farm};
use model::{Code, ColumnKind, ColumnValue, Id};
use repository::{ListRequest, RowChange, Session, SortKey, Target, ValuesChange};

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_make_pages_short_and_batches_small() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let notes = [
            column(&admin, &list, "First", ColumnKind::Note).await,
            column(&admin, &list, "Second", ColumnKind::Note).await,
        ];
        let long = "x".repeat(60_000);
        let mut rows = Vec::new();
        for start in [0, 75] {
            let add = |i: usize| RowChange::Add {
                set: vec![(title, text(&format!("{i:03}"))), (notes[0], text(&long)), (notes[1], text(&long))],
            };
            let outcomes = change(&admin, &list, (start..start + 75).map(add).collect()).await;
            rows.extend(outcomes.iter().filter_map(|outcome| outcome.row));
        }
        assert_eq!(rows.len(), 150);
        let request = ListRequest { limit: 1_000, columns: 9, ..ListRequest::default() };
        let page = admin.list_filtered(&list, request.clone()).await.unwrap().page;
        assert_eq!(page.items.len(), (8 << 20) / 120_030);
        let some = admin.rows_by_id(&list, rows.clone()).await.unwrap().page;
        let last = page.items.last().map(|row| SortKey::Row(row.id));
        assert_eq!((some.items.len(), some.next), (page.items.len(), last));
        let mut seen = titles(&admin, &list, &request, 1_000).await;
        assert!(seen.is_sorted());
        seen.dedup();
        assert_eq!(seen.len(), 150);
        let edit = |row: &Id| RowChange::Edit { row: *row, revision: None, was: vec![], set: vec![(title, text("x"))] };
        let error = admin.change_rows(&list, rows.iter().map(edit).collect(), false).await.unwrap_err();
        assert_eq!(error.code(), Code::TooMuchAtOnce);
        // Rows of other lists are not even measured: their size is nobody's business.
        let other = admin.create_list(&at(""), &name("Other"), &name("Task")).await.unwrap();
        let outcomes = change(&admin, &Target::Id(other.id), rows.iter().map(edit).collect()).await;
        assert!(outcomes.iter().all(|outcome| code(outcome) == Some(Code::NotFound)));
        let outcomes = change(&admin, &list, rows[..100].iter().map(edit).collect()).await;
        assert!(outcomes.iter().all(|outcome| outcome.error.is_none()));
    })
    .await;
}

/// Fills columns of notes until the fields are too long together, and returns how many fit.
async fn filled(session: &Session, item: &Target, notes: &[Id]) -> usize {
    let long = "x".repeat(60_000);
    for (number, note) in notes.iter().enumerate() {
        let values = vec![(*note, text(&long))];
        match session.set_values(item, ValuesChange { values, ..ValuesChange::default() }).await {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.code(), Code::FieldsTooLong);
                return number;
            }
        }
    }
    notes.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fields_of_documents_and_rows_are_bounded_together() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let row = Target::Id(admin.add_row(&list, vec![(title, text("a"))]).await.unwrap());
        let folder = admin.create_folder(&at("Documents"), &name("Folder")).await.unwrap();
        for (place, item) in [(list.clone(), row.clone()), (at("Documents"), Target::Id(folder.id))] {
            let mut notes = Vec::new();
            for number in 0..6 {
                notes.push(column(&admin, &place, &format!("Note {number}"), ColumnKind::Note).await);
            }
            assert_eq!(filled(&admin, &item, &notes).await, 4);
            // What is there can be shortened.
            let values = vec![(notes[0], text("short"))];
            admin.set_values(&item, ValuesChange { values, ..ValuesChange::default() }).await.unwrap();
        }
        // What stood in a column that was removed does not count.
        let (columns, _) = admin.columns(&list).await.unwrap();
        for column in columns.iter().filter(|column| column.name.starts_with("Note")) {
            admin.delete_column(&list, column.id).await.unwrap();
        }
        let mut notes = Vec::new();
        for number in 0..6 {
            notes.push(column(&admin, &list, &format!("New {number}"), ColumnKind::Note).await);
        }
        assert_eq!(filled(&admin, &row, &notes).await, 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_titles_are_shown_in_part_and_kept_whole() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let long = format!("first\n{}", "ä".repeat(9_000));
        let row = Target::Id(admin.add_row(&list, vec![(title, text(&long))]).await.unwrap());
        let shown = admin.item(&row).await.unwrap().title.unwrap();
        assert_eq!((shown.chars().count(), shown.contains('\n')), (255, false));
        assert_eq!(admin.values(&row).await.unwrap(), [(title, ColumnValue::Text(long))]);
    })
    .await;
}
