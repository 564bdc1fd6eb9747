//! Tests of copying and moving rows to other lists, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{column, default, formula, name, new_list, number, set, text, titles, value, with_options};
use crate::support::{at, each_farm, get, put, with_rights};
use model::{Code, ColumnKind, ErrorKind, Id, LibrarySettings, Right, Role};
use repository::{ColumnOptions, Filter, ListRequest, Session, Sort, Target, ValueTest};

/// Another list, whose title column is called the same.
async fn other_list(session: &Session) -> (Target, Id) {
    let list = session.create_list(&at(""), &name("Done"), &name("Task")).await.unwrap();
    let target = Target::Id(list.id);
    let title = session.columns(&target).await.unwrap().0[0].id;
    (target, title)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_moves_with_values_attachments_and_versions() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let ((tasks, task), (done, title)) = (new_list(&admin).await, other_list(&admin).await);
        let effort = column(&admin, &tasks, "Effort", ColumnKind::Number).await;
        column(&admin, &tasks, "Empty", ColumnKind::Text).await;
        let new_effort = column(&admin, &done, "EFFORT", ColumnKind::Number).await;
        let double = with_options(&admin, &done, "Double", ColumnKind::Number, formula("[Effort] * 2")).await.unwrap();
        let at_end = with_options(&admin, &done, "Result", ColumnKind::Text, default("\"good\"")).await.unwrap();
        let later = column(&admin, &done, "Later", ColumnKind::Text).await;
        admin.add_row(&done, vec![(title, text("old"))]).await.unwrap();
        let row = admin.add_row(&tasks, vec![(task, text("build")), (effort, number(2.0))]).await.unwrap();
        admin.add_row(&tasks, vec![(task, text("stays"))]).await.unwrap();
        set(&admin, row, effort, number(3.0)).await.unwrap();
        put(&admin, "Tasks/1/plan.txt", "attached").await.unwrap();
        let before = admin.item(&row.into()).await.unwrap();

        let moved = admin.move_to(&row.into(), &done, None).await.unwrap();
        assert_eq!((moved.id, moved.path.as_str(), moved.shown_name()), (row, "Done/2", "build"));
        assert_ne!(moved.etag(), before.etag());
        assert_eq!(get(&admin, "Done/2/plan.txt").await.unwrap(), "attached");
        assert_eq!(value(&admin, row, new_effort).await, number(3.0));
        assert_eq!(value(&admin, row, double).await, number(6.0));
        assert_eq!(value(&admin, row, at_end).await, text("good"));
        let revisions = admin.row_revisions(&row.into(), None, 10).await.unwrap().items;
        let efforts: Vec<_> = revisions
            .iter()
            .map(|revision| revision.values.iter().find(|(id, _)| *id == new_effort).map(|(_, value)| value.clone()))
            .collect();
        assert_eq!(efforts, [number(3.0), number(3.0), number(2.0)]);
        assert_eq!(revisions.iter().map(|revision| revision.number).collect::<Vec<_>>(), [3, 2, 1]);

        // Every order of either list has all of its rows, and no others.
        for sort in [Sort::Name, Sort::Column(new_effort), Sort::Column(double), Sort::Column(later)] {
            for descending in [false, true] {
                let request = ListRequest { sort, descending, ..ListRequest::default() };
                let mut found = titles(&admin, &done, &request, 10).await;
                found.sort();
                assert_eq!(found, ["build", "old"], "{sort:?} {descending}");
            }
        }
        let request = ListRequest { sort: Sort::Column(effort), ..ListRequest::default() };
        assert_eq!(titles(&admin, &tasks, &request, 10).await, ["stays"]);
        let values = vec![(new_effort, ValueTest::Is(number(3.0).unwrap()))];
        let filter = Filter { values, ..Filter::default() };
        assert_eq!(titles(&admin, &done, &ListRequest { filter, ..ListRequest::default() }, 10).await, ["build"]);
        set(&admin, row, new_effort, number(5.0)).await.unwrap();
        let again = admin.move_to(&row.into(), &done, None).await.unwrap_err();
        assert_eq!(again.code(), Code::SameItem);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_loses_no_value_and_passes_the_checks_of_the_list() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let ((tasks, task), (done, title)) = (new_list(&admin).await, other_list(&admin).await);
        let remark = column(&admin, &tasks, "Remark", ColumnKind::Text).await;
        let row = admin.add_row(&tasks, vec![(task, text("build")), (remark, text("kept"))]).await.unwrap();
        let refused = admin.move_to(&row.into(), &done, None).await.unwrap_err();
        assert_eq!((refused.code(), refused.kind()), (Code::MissingColumns, ErrorKind::Conflict));
        assert!(refused.message().contains("\"Remark\""), "{}", refused.message());
        assert_eq!(value(&admin, row, remark).await, text("kept"));
        // A copy leaves it out.
        let copy = admin.copy_to(&row.into(), &done, None).await.unwrap();
        assert_eq!((copy.path.as_str(), copy.shown_name()), ("Done/1", "build"));
        let unique = ColumnOptions { unique: true, ..ColumnOptions::default() };
        let new_remark = with_options(&admin, &done, "Remark", ColumnKind::Text, unique).await.unwrap();
        let twin = admin.add_row(&done, vec![(title, text("twin")), (new_remark, text("kept"))]).await.unwrap();
        for refused in [
            admin.move_to(&row.into(), &done, None).await.unwrap_err(),
            admin.copy_to(&row.into(), &done, None).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), Code::ValueTaken);
        }
        admin.delete(&twin.into()).await.unwrap();
        let settings = LibrarySettings { attachments: false, ..admin.library_settings(&done).await.unwrap() };
        admin.change_library(&done, settings.clone()).await.unwrap();
        put(&admin, "Tasks/1/plan.txt", "attached").await.unwrap();
        for refused in [
            admin.move_to(&row.into(), &done, None).await.unwrap_err(),
            admin.copy_to(&row.into(), &done, None).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), Code::AttachmentsOff);
        }
        let settings = LibrarySettings { attachments: true, ..settings };
        admin.change_library(&done, settings).await.unwrap();
        let named = admin.copy_to(&row.into(), &done, Some(&name("x"))).await.unwrap_err();
        assert_eq!(named.code(), Code::WrongKind);
        admin.move_to(&row.into(), &done, None).await.unwrap();
        assert_eq!(value(&admin, row, new_remark).await, text("kept"));
        // Numbers are not given twice, also after refusals.
        assert_eq!(admin.item(&row.into()).await.unwrap().name, "3");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_copied_beside_itself_with_its_attachments() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (tasks, task) = new_list(&admin).await;
        let effort = column(&admin, &tasks, "Effort", ColumnKind::Number).await;
        let row = admin.add_row(&tasks, vec![(task, text("build")), (effort, number(2.0))]).await.unwrap();
        put(&admin, "Tasks/1/plan.txt", "attached").await.unwrap();
        let copy = admin.copy_to(&row.into(), &tasks, None).await.unwrap();
        assert_eq!((copy.path.as_str(), copy.shown_name()), ("Tasks/2", "build"));
        assert_eq!(value(&admin, copy.id, effort).await, number(2.0));
        assert_eq!(get(&admin, "Tasks/2/plan.txt").await.unwrap(), "attached");
        set(&admin, copy.id, effort, number(5.0)).await.unwrap();
        assert_eq!(value(&admin, row, effort).await, number(2.0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_move_with_the_rights_on_both_lists() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let ((tasks, task), (done, _)) = (new_list(&admin).await, other_list(&admin).await);
        let row = admin.add_row(&tasks, vec![(task, text("build"))]).await.unwrap();
        let (adder, _) = with_rights(&farm, "adder", "Done", &[Right::View, Right::Add]).await;
        admin.grant(&at(""), adder, Role::READ).await.unwrap();
        let adder = farm.session(adder).await;
        assert_eq!(adder.move_to(&row.into(), &done, None).await.unwrap_err().kind(), ErrorKind::Forbidden);
        adder.copy_to(&row.into(), &done, None).await.unwrap();
        let (deleter, _) = with_rights(&farm, "deleter", "Tasks", &[Right::View, Right::Delete]).await;
        admin.grant(&at("Done"), deleter, Role::READ).await.unwrap();
        let deleter = farm.session(deleter).await;
        for refused in [
            deleter.move_to(&row.into(), &done, None).await.unwrap_err(),
            deleter.copy_to(&row.into(), &done, None).await.unwrap_err(),
        ] {
            assert_eq!(refused.kind(), ErrorKind::Forbidden);
        }
        // An attachment that may not be deleted holds its row.
        put(&admin, "Tasks/1/plan.txt", "attached").await.unwrap();
        admin.break_inheritance(&at("Tasks/1/plan.txt"), false).await.unwrap();
        let role = admin.role_by_name("adder").await.unwrap().id;
        let (id, _) = with_rights(&farm, "both", "Tasks", &[Right::View, Right::Delete]).await;
        admin.grant(&at("Done"), id, role).await.unwrap();
        let both = farm.session(id).await;
        assert_eq!(both.move_to(&row.into(), &done, None).await.unwrap_err().kind(), ErrorKind::Forbidden);
        // A copy leaves it out.
        let copy = both.copy_to(&row.into(), &done, None).await.unwrap();
        assert_eq!(admin.item(&copy.id.into()).await.unwrap().attachments, Some(0));
        admin.restore_inheritance(&at("Tasks/1/plan.txt")).await.unwrap();
        both.move_to(&row.into(), &done, None).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_emptied_stays_empty_and_named_entries_stay_named() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let ((tasks, task), (done, title)) = (new_list(&admin).await, other_list(&admin).await);
        let kind = ColumnKind::Lookup(admin.item(&done).await.unwrap().id);
        let entry = admin.add_row(&done, vec![(title, text("entry"))]).await.unwrap();
        let mut columns = Vec::new();
        for list in [&tasks, &done] {
            let state = with_options(&admin, list, "State", ColumnKind::Text, default("\"open\"")).await.unwrap();
            columns.push((state, column(&admin, list, "Entry", kind.clone()).await));
        }
        let [(state, named), (new_state, new_named)] = columns[..] else { panic!("two lists") };
        let lookup = Some(model::ColumnValue::Lookup(entry));
        let values = vec![(task, text("build")), (state, None), (named, lookup.clone())];
        let row = admin.add_row(&tasks, values).await.unwrap();
        // Nobody can choose the entry any more.
        admin.delete(&entry.into()).await.unwrap();
        let copy = admin.copy_to(&row.into(), &tasks, None).await.unwrap().id;
        let other = admin.copy_to(&row.into(), &done, None).await.unwrap().id;
        admin.move_to(&row.into(), &done, None).await.unwrap();
        for (id, state, named) in [(copy, state, named), (other, new_state, new_named), (row, new_state, new_named)] {
            assert_eq!((value(&admin, id, state).await, value(&admin, id, named).await), (None, lookup.clone()));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_go_along_however_few_the_list_keeps() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let ((tasks, task), (done, title)) = (new_list(&admin).await, other_list(&admin).await);
        let settings = admin.library_settings(&done).await.unwrap();
        admin.change_library(&done, LibrarySettings { major_limit: 1, ..settings }).await.unwrap();
        let row = admin.add_row(&tasks, vec![(task, text("one"))]).await.unwrap();
        for label in ["two", "three"] {
            set(&admin, row, task, text(label)).await.unwrap();
        }
        admin.move_to(&row.into(), &done, None).await.unwrap();
        let titles = async || {
            let revisions = admin.row_revisions(&row.into(), None, 10).await.unwrap().items;
            let title = |values: &[(Id, model::ColumnValue)]| values.iter().find(|(id, _)| *id == title).cloned();
            revisions.iter().map(|revision| title(&revision.values).map(|(_, value)| value)).collect::<Vec<_>>()
        };
        assert_eq!(titles().await, [text("three"), text("three"), text("two"), text("one")]);
        set(&admin, row, title, text("four")).await.unwrap();
        assert_eq!(titles().await, [text("four")], "the list keeps one version");
    })
    .await;
}
