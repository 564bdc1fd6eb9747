//! Tests of attachments: documents in the rows of lists; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{change, code, column, name, new_list, number, text, titles};
use crate::support::{Farm, at, each_farm, get, names, put, read};
use bytes::Bytes;
use model::{Code, ColumnKind, ErrorKind, Id, LibrarySettings, Role, Versioning};
use repository::{
    Bin, ColumnChange, ColumnOptions, Destination, Filter, ListRequest, MAX_ATTACHMENTS, RowChange, Session, Sort,
    Target, TemplateDraft, UploadOptions, ValueTest, ValuesChange, VersionChoice,
};

/// Lets a list take attachments or not.
async fn allow(session: &Session, list: &Target, attachments: bool) {
    let settings = LibrarySettings { attachments, ..session.library_settings(list).await.unwrap() };
    session.change_library(list, settings).await.unwrap();
}

async fn row(session: &Session, list: &Target, title: Id, label: &str) -> Id {
    session.add_row(list, vec![(title, text(label))]).await.unwrap()
}

async fn attach(session: &Session, row: Id, label: &str, content: &str) -> model::Result<Id> {
    let to = Destination::Child { parent: row, name: name(label) };
    let bytes = Bytes::copy_from_slice(content.as_bytes());
    Ok(session.upload_bytes(&to, UploadOptions::default(), bytes).await?.id)
}

async fn attached(session: &Session, row: Id) -> Vec<String> {
    let (_, page) = session.list(&row.into(), Sort::Name, false, None, 100).await.unwrap();
    page.items.into_iter().map(|item| item.name).collect()
}

async fn count(session: &Session, row: Id) -> Option<u64> {
    session.item(&row.into()).await.unwrap().attachments
}

/// Documents and bytes that a site collection counts.
async fn usage(session: &Session) -> (u64, u64) {
    let collection = session.item(&at("")).await.unwrap().collection_id;
    let usage = session.site_collection(collection).await.unwrap().usage.unwrap();
    (usage.documents, usage.used_bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_attached_to_rows_read_replaced_renamed_deleted_and_restored() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let (first, second) = (row(&admin, &list, title, "a").await, row(&admin, &list, title, "b").await);
        let before = admin.item(&first.into()).await.unwrap();
        assert_eq!(before.attachments, Some(0));
        let plan = attach(&admin, first, "Plan.txt", "one").await.unwrap();
        put(&admin, "Tasks/1/b.txt", "by path").await.unwrap();
        assert_eq!(attached(&admin, first).await, ["b.txt", "Plan.txt"]);
        assert_eq!(get(&admin, "Tasks/1/plan.TXT").await.unwrap(), "one");
        assert_eq!(admin.item(&plan.into()).await.unwrap().path, "Tasks/1/Plan.txt");
        let way = admin.item_with_ancestors(&plan.into()).await.unwrap();
        assert_eq!(way.iter().map(repository::Item::shown_name).collect::<Vec<_>>()[1..], ["Tasks", "a", "Plan.txt"]);
        // The number stands with the row, in listings, and with rows that are asked for by identifier.
        assert_eq!(count(&admin, first).await, Some(2));
        let (_, page) = admin.list(&list, Sort::Name, false, None, 10).await.unwrap();
        assert_eq!(page.items.iter().map(|item| item.attachments).collect::<Vec<_>>(), [Some(2), Some(0)]);
        let by_id = admin.rows_by_id(&list, vec![first, second]).await.unwrap().page.items;
        assert_eq!(by_id.iter().map(|item| item.attachments).collect::<Vec<_>>(), [Some(2), Some(0)]);
        assert_eq!(admin.item(&at("Documents")).await.unwrap().attachments, None);
        // The row itself does not change.
        let after = admin.item(&first.into()).await.unwrap();
        assert_eq!((after.etag(), after.modified_at), (before.etag(), before.modified_at));
        // Versions as documents have them.
        assert_eq!(attach(&admin, first, "plan.txt", "two").await.unwrap(), plan);
        assert_eq!(admin.versions(&plan.into(), None, 10).await.unwrap().items.len(), 2);
        let old = VersionChoice::Number(model::VersionNumber::new(1, 0));
        assert_eq!(read(&admin, &plan.into(), old).await.unwrap(), "one");
        assert_eq!(admin.rename(&plan.into(), &name("Draft.txt")).await.unwrap().path, "Tasks/1/Draft.txt");
        assert_eq!(get(&admin, "Tasks/1/Draft.txt").await.unwrap(), "two");
        let entry = admin.delete(&plan.into()).await.unwrap();
        assert_eq!(attached(&admin, first).await, ["b.txt"]);
        assert_eq!(count(&admin, first).await, Some(1));
        attach(&admin, first, "draft.txt", "another").await.unwrap();
        let back = admin.restore(before.collection_id, entry).await.unwrap();
        assert_eq!((back.id, back.path.as_str()), (plan, "Tasks/1/Draft (2).txt"));
        assert_eq!(attached(&admin, second).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_are_no_rows_and_have_no_values() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let options = |options: ColumnOptions, kind: ColumnKind, required: bool, label: &str| ColumnChange {
            name: name(label),
            kind,
            required,
            content_type_id: None,
            options,
        };
        let default = ColumnOptions { default: "7".into(), ..ColumnOptions::default() };
        let effort = options(default, ColumnKind::Number, true, "Effort");
        let effort = admin.create_column(&list, effort).await.unwrap();
        let formula = ColumnOptions { formula: "1 + 1".into(), ..ColumnOptions::default() };
        admin.create_column(&list, options(formula, ColumnKind::Number, false, "Two")).await.unwrap();
        let unique = ColumnOptions { unique: true, ..ColumnOptions::default() };
        let key = admin.create_column(&list, options(unique, ColumnKind::Text, false, "Key")).await.unwrap();
        let first = row(&admin, &list, title, "a").await;
        let document = attach(&admin, first, "a.txt", "words").await.unwrap();
        assert_eq!(admin.values(&document.into()).await.unwrap(), []);
        assert!(admin.columns(&document.into()).await.unwrap().0.is_empty());
        let set = ValuesChange { values: vec![(key, text("k"))], ..ValuesChange::default() };
        assert_eq!(admin.set_values(&document.into(), set).await.unwrap_err().code(), Code::WrongKind);
        // Nobody is asked for what the list requires of its rows.
        admin.check_out(&document.into()).await.unwrap();
        attach(&admin, first, "a.txt", "more").await.unwrap();
        admin.check_in(&document.into(), repository::CheckIn::default()).await.unwrap();
        assert_eq!(get(&admin, "Tasks/1/a.txt").await.unwrap(), "more");
        let all = ListRequest { limit: 10, columns: 10, ..ListRequest::default() };
        let listed = admin.list_filtered(&list, all.clone()).await.unwrap();
        assert_eq!(listed.page.items.iter().map(|item| item.id).collect::<Vec<_>>(), [first]);
        let inside = admin.list_filtered(&first.into(), all).await.unwrap();
        assert!(inside.columns.is_empty() && inside.values.is_empty());
        for sort in [Sort::Modified, Sort::Size, Sort::Person, Sort::Type, Sort::Column(effort)] {
            for descending in [false, true] {
                let request = ListRequest { sort, descending, ..ListRequest::default() };
                assert_eq!(titles(&admin, &first.into(), &request, 10).await, ["a.txt"], "{sort:?}");
                assert_eq!(titles(&admin, &list, &request, 10).await, ["a"], "{sort:?}");
            }
        }
        let wanted = [(effort, model::Total::Count), (effort, model::Total::Sum)];
        let totals = admin.totals(&list, Filter::default(), &wanted).await.unwrap().unwrap();
        assert_eq!(totals, [number(1.0), number(7.0)]);
        farm.repository.recompute().await.unwrap();
        assert_eq!(admin.values(&document.into()).await.unwrap(), []);
        // Its name is a name, whatever the rows are called.
        let second = row(&admin, &list, title, "b").await;
        attach(&admin, first, "2", "like the number of the other row").await.unwrap();
        assert_eq!(admin.item(&at("Tasks/2")).await.unwrap().id, second);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_take_documents_only_and_only_where_the_list_allows_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let first = row(&admin, &list, title, "a").await;
        let document = attach(&admin, first, "a.txt", "one").await.unwrap();
        let elsewhere = put(&admin, "Documents/folder/b.txt", "b").await.unwrap().id;
        let folder = admin.item(&at("Documents/folder")).await.unwrap().id;
        let refused = |result: model::Result<_>| result.map(|_: Id| ()).unwrap_err().code();
        assert_eq!(admin.create_folder(&first.into(), &name("f")).await.unwrap_err().code(), Code::WrongKind);
        assert_eq!(put(&admin, "Tasks/1/f/a.txt", "x").await.unwrap_err().code(), Code::WrongKind);
        assert_eq!(admin.move_to(&folder.into(), &first.into(), None).await.unwrap_err().code(), Code::WrongKind);
        assert_eq!(admin.copy_to(&folder.into(), &first.into(), None).await.unwrap_err().code(), Code::WrongKind);
        assert_eq!(put(&admin, "Tasks/99/a.txt", "x").await.unwrap_err().code(), Code::WrongKind);
        allow(&admin, &list, false).await;
        assert_eq!(refused(attach(&admin, first, "b.txt", "x").await), Code::AttachmentsOff);
        assert_eq!(put(&admin, "Tasks/1/b.txt", "x").await.unwrap_err().code(), Code::AttachmentsOff);
        let moved = admin.move_to(&elsewhere.into(), &first.into(), None).await;
        assert_eq!(moved.unwrap_err().code(), Code::AttachmentsOff);
        let copied = admin.copy_to(&elsewhere.into(), &first.into(), None).await;
        assert_eq!(copied.unwrap_err().code(), Code::AttachmentsOff);
        // Those that are there stay, with new versions and all.
        assert_eq!(attach(&admin, first, "a.txt", "two").await.unwrap(), document);
        let collection = admin.item(&list).await.unwrap().collection_id;
        let entry = admin.delete(&document.into()).await.unwrap();
        admin.restore(collection, entry).await.unwrap();
        assert_eq!(get(&admin, "Tasks/1/a.txt").await.unwrap(), "two");
        allow(&admin, &list, true).await;
        admin.move_to(&elsewhere.into(), &first.into(), None).await.unwrap();
        assert_eq!(attached(&admin, first).await, ["a.txt", "b.txt"]);
        // Neither a library nor a list itself.
        let settings = LibrarySettings { attachments: true, ..LibrarySettings::default() };
        let library = admin.create_library(&at(""), &name("L"), settings.clone()).await;
        assert_eq!(library.unwrap_err().code(), Code::WrongKind);
        let changed = admin.change_library(&at("Documents"), settings).await;
        assert_eq!(changed.unwrap_err().code(), Code::WrongKind);
        assert_eq!(put(&admin, "Tasks/a.txt", "x").await.unwrap_err().code(), Code::WrongKind);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_has_only_so_many_attachments() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let first = row(&admin, &list, title, "a").await;
        for number in 0..MAX_ATTACHMENTS {
            attach(&admin, first, &format!("{number}.txt"), "x").await.unwrap();
        }
        let collection = admin.item(&list).await.unwrap().collection_id;
        let refused = attach(&admin, first, "more.txt", "x").await.unwrap_err();
        assert_eq!((refused.code(), refused.kind()), (Code::TooManyAttachments, ErrorKind::Conflict));
        attach(&admin, first, "7.txt", "a version of one that is there").await.unwrap();
        let entry = admin.delete(&at("Tasks/1/7.txt")).await.unwrap();
        attach(&admin, first, "more.txt", "x").await.unwrap();
        assert_eq!(admin.restore(collection, entry).await.unwrap_err().code(), Code::TooManyAttachments);
        assert_eq!(count(&admin, first).await, Some(MAX_ATTACHMENTS as u64));
        // More than one transaction deletes.
        let entry = admin.delete(&first.into()).await.unwrap();
        admin.purge(collection, entry, Bin::Site).await.unwrap();
        admin.empty_bin(collection, Bin::Mine).await.unwrap();
        admin.empty_bin(collection, Bin::Site).await.unwrap();
        assert_eq!(usage(&admin).await, (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_takes_its_attachments_into_the_bin_and_back_and_away() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let collection = admin.item(&list).await.unwrap().collection_id;
        let mut rows = Vec::new();
        for label in ["a", "b", "c"] {
            let id = row(&admin, &list, title, label).await;
            attach(&admin, id, "x.txt", label).await.unwrap();
            rows.push(id);
        }
        assert_eq!(usage(&admin).await, (3, 3));
        let entry = admin.delete(&rows[0].into()).await.unwrap();
        assert_eq!(get(&admin, "Tasks/1/x.txt").await.unwrap_err().kind(), ErrorKind::NotFound);
        let binned = admin.recycled(collection, Bin::Mine, None, 10).await.unwrap().items;
        assert_eq!((binned.len(), binned[0].documents, binned[0].size), (1, 1, 1));
        admin.restore(collection, entry).await.unwrap();
        assert_eq!(get(&admin, "Tasks/1/x.txt").await.unwrap(), "a");
        // An attachment in the bin comes back once its row is there again.
        let attachment = admin.delete(&at("Tasks/1/x.txt")).await.unwrap();
        let entry = admin.delete(&rows[0].into()).await.unwrap();
        assert_eq!(admin.restore(collection, attachment).await.unwrap_err().code(), Code::ParentMissing);
        admin.restore(collection, entry).await.unwrap();
        admin.restore(collection, attachment).await.unwrap();
        assert_eq!(get(&admin, "Tasks/1/x.txt").await.unwrap(), "a");
        // Many rows at once.
        let deletions = || rows[..2].iter().map(|row| RowChange::Delete { row: *row, revision: None }).collect();
        assert!(change(&admin, &list, deletions()).await.iter().all(|outcome| outcome.error.is_none()));
        assert_eq!(names(&admin, "Tasks").await, ["3"]);
        admin.empty_bin(collection, Bin::Mine).await.unwrap();
        admin.empty_bin(collection, Bin::Site).await.unwrap();
        assert_eq!(usage(&admin).await, (1, 1));
        // The list as a whole.
        let entry = admin.delete(&list).await.unwrap();
        admin.restore(collection, entry).await.unwrap();
        assert_eq!(get(&admin, "Tasks/3/x.txt").await.unwrap(), "c");
        let entry = admin.delete(&list).await.unwrap();
        admin.purge(collection, entry, Bin::Site).await.unwrap();
        admin.empty_bin(collection, Bin::Site).await.unwrap();
        assert_eq!(usage(&admin).await, (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_not_deleted_while_somebody_works_on_an_attachment() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let (id, _) = farm.person("berta").await;
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        let berta = farm.session(id).await;
        let first = row(&admin, &list, title, "a").await;
        let second = row(&admin, &list, title, "b").await;
        let document = attach(&admin, first, "x.txt", "x").await.unwrap();
        admin.check_out(&document.into()).await.unwrap();
        assert_eq!(berta.delete(&first.into()).await.unwrap_err().code(), Code::CheckedOut);
        let deletions = [first, second].map(|row| RowChange::Delete { row, revision: None });
        let outcomes = change(&berta, &list, deletions.to_vec()).await;
        assert_eq!(outcomes.iter().map(code).collect::<Vec<_>>(), [Some(Code::CheckedOut), None]);
        admin.discard_check_out(&document.into()).await.unwrap();
        // An attachment with permissions of its own that the caller may not delete.
        admin.break_inheritance(&document.into(), false).await.unwrap();
        assert_eq!(count(&berta, first).await, Some(0));
        assert_eq!(berta.delete(&first.into()).await.unwrap_err().kind(), ErrorKind::Forbidden);
        let outcomes = change(&berta, &list, deletions[..1].to_vec()).await;
        assert_eq!(outcomes[0].error.as_ref().map(model::Error::kind), Some(ErrorKind::Forbidden));
        assert_eq!(get(&admin, "Tasks/1/x.txt").await.unwrap(), "x");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_have_the_permissions_of_their_row() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let first = row(&admin, &list, title, "secret").await;
        row(&admin, &list, title, "other").await;
        let document = attach(&admin, first, "x.txt", "x").await.unwrap();
        let (reader, _) = farm.person("reader").await;
        admin.grant(&at(""), reader, Role::READ).await.unwrap();
        let session = farm.session(reader).await;
        assert_eq!(
            (get(&session, "Tasks/1/x.txt").await.unwrap().as_str(), count(&session, first).await),
            ("x", Some(1))
        );
        let refused = attach(&session, first, "y.txt", "y").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        assert_eq!(session.delete(&document.into()).await.unwrap_err().kind(), ErrorKind::Forbidden);
        admin.break_inheritance(&first.into(), false).await.unwrap();
        attach(&admin, first, "later.txt", "y").await.unwrap();
        for path in ["Tasks/1", "Tasks/1/x.txt", "Tasks/1/later.txt"] {
            assert_eq!(session.item(&at(path)).await.unwrap_err().kind(), ErrorKind::NotFound, "{path}");
        }
        assert_eq!(attach(&session, first, "x.txt", "y").await.unwrap_err().kind(), ErrorKind::NotFound);
        // One attachment is shared: whoever sees it learns nothing of the row but its number.
        admin.break_inheritance(&document.into(), false).await.unwrap();
        admin.grant(&document.into(), reader, Role::READ).await.unwrap();
        let session = farm.session(reader).await;
        assert_eq!(get(&session, "Tasks/1/x.txt").await.unwrap(), "x");
        let known = session.item(&first.into()).await.unwrap();
        assert_eq!((known.shown_name(), known.title.as_deref(), known.attachments), ("1", None, None));
        assert_eq!(attached(&session, first).await, ["x.txt"]);
        assert_eq!(titles(&session, &list, &ListRequest::default(), 10).await, ["other"]);
        let secret = ValueTest::Is(text("secret").unwrap());
        let filter = Filter { values: vec![(title, secret)], ..Filter::default() };
        let request = ListRequest { filter, ..ListRequest::default() };
        assert_eq!(titles(&session, &list, &request, 10).await, Vec::<String>::new());
        assert!(session.rows_by_id(&list, vec![first]).await.unwrap().page.items.is_empty());
        assert!(session.values(&first.into()).await.is_err());
        admin.restore_inheritance(&first.into()).await.unwrap();
        let session = farm.session(reader).await;
        assert_eq!(count(&session, first).await, Some(2));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_move_and_are_copied_between_libraries_and_rows() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let other = admin.create_list(&at(""), &name("Other"), &name("Title")).await.unwrap();
        let other_title = admin.columns(&other.id.into()).await.unwrap().0[0].id;
        let (first, second) = (row(&admin, &list, title, "a").await, row(&admin, &list, title, "b").await);
        let far = row(&admin, &other.id.into(), other_title, "far").await;
        let documents = Target::Id(admin.item(&at("Documents")).await.unwrap().id);
        let kind = column(&admin, &documents, "Kind", ColumnKind::Text).await;
        let document = put(&admin, "Documents/a.txt", "a").await.unwrap().id;
        let set = ValuesChange { values: vec![(kind, text("offer"))], ..ValuesChange::default() };
        admin.set_values(&document.into(), set).await.unwrap();
        admin.move_to(&document.into(), &first.into(), None).await.unwrap();
        assert_eq!(admin.values(&document.into()).await.unwrap(), []);
        assert_eq!(admin.item(&document.into()).await.unwrap().library_id, admin.item(&list).await.unwrap().id);
        assert_eq!(titles(&admin, &list, &ListRequest::default(), 10).await, ["a", "b"]);
        for to in [second, far] {
            let copy = admin.copy_to(&document.into(), &to.into(), None).await.unwrap();
            assert_eq!(copy.name, "a.txt");
        }
        assert_eq!(attached(&admin, far).await, ["a.txt"]);
        let clash = admin.move_to(&document.into(), &second.into(), None).await.unwrap_err();
        assert_eq!(clash.code(), Code::NameTaken);
        admin.move_to(&document.into(), &second.into(), Some(&name("b.txt"))).await.unwrap();
        assert_eq!((count(&admin, first).await, count(&admin, second).await), (Some(0), Some(2)));
        admin.move_to(&document.into(), &documents, None).await.unwrap();
        assert_eq!(admin.values(&document.into()).await.unwrap().len(), 1, "it has its value again");
        assert_eq!(usage(&admin).await.0, 3);
        // Whatever it brought along goes with it.
        admin.move_to(&document.into(), &first.into(), None).await.unwrap();
        let collection = other.collection_id;
        admin.delete(&list).await.unwrap();
        admin.empty_bin(collection, Bin::Mine).await.unwrap();
        admin.empty_bin(collection, Bin::Site).await.unwrap();
        assert_eq!(usage(&admin).await.0, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_and_the_deletion_of_its_row_do_not_cross() {
    each_farm(|farm: Farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let collection = admin.item(&list).await.unwrap().collection_id;
        for round in 0..8 {
            let id = row(&admin, &list, title, "a").await;
            let target = Target::Id(id);
            let deletion = RowChange::Delete { row: id, revision: None };
            let (stored, deleted) = match round % 2 {
                0 => {
                    let (stored, deleted) = tokio::join!(attach(&admin, id, "x", "x"), admin.delete(&target));
                    (stored, deleted.map(drop))
                }
                _ => {
                    let (stored, mut outcomes) =
                        tokio::join!(attach(&admin, id, "x", "x"), change(&admin, &list, vec![deletion]));
                    (stored, outcomes.pop().and_then(|outcome| outcome.error).map_or(Ok(()), Err))
                }
            };
            match (&stored, &deleted) {
                (Ok(_), Ok(())) => {}
                (Err(error), Ok(())) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
                (_, Err(error)) => assert_eq!(error.code(), Code::ValueChanged, "{error}"),
            }
            admin.empty_bin(collection, Bin::Mine).await.unwrap();
            admin.empty_bin(collection, Bin::Site).await.unwrap();
            let left = u64::from(deleted.is_err());
            assert_eq!(usage(&admin).await, (left, left), "round {round}: {stored:?}");
            if deleted.is_err() {
                admin.delete(&id.into()).await.unwrap();
                admin.empty_bin(collection, Bin::Mine).await.unwrap();
                admin.empty_bin(collection, Bin::Site).await.unwrap();
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_are_found_by_name_with_the_path_of_their_row() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let first = row(&admin, &list, title, "a").await;
        attach(&admin, first, "gannet.txt", "x").await.unwrap();
        let found = async |session: &Session| -> Vec<String> {
            let found = session.find_by_name("gannet", 10).await.unwrap().items;
            found.into_iter().map(|item| item.path).collect()
        };
        assert_eq!(found(&admin).await, ["Tasks/1/gannet.txt"]);
        let (reader, _) = farm.person("reader").await;
        admin.grant(&at(""), reader, Role::READ).await.unwrap();
        let session = farm.session(reader).await;
        assert_eq!(found(&session).await, ["Tasks/1/gannet.txt"]);
        admin.break_inheritance(&first.into(), false).await.unwrap();
        assert_eq!(found(&session).await, Vec::<String>::new());
        admin.delete(&first.into()).await.unwrap();
        assert_eq!(found(&admin).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_for_files_reach_attachments_by_their_address_only() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let first = row(&admin, &list, title, "a").await;
        let document = attach(&admin, first, "x.txt", "x").await.unwrap();
        let wanted = repository::DetailOptions::default();
        assert_eq!(admin.details(&at("Tasks/1/x.txt"), wanted).await.unwrap().item.id, document);
        for hidden in ["Tasks", "Tasks/1"] {
            assert_eq!(admin.details(&at(hidden), wanted).await.unwrap_err().code(), Code::NotFound, "{hidden}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_setting_is_kept_with_the_others_and_in_templates() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        assert!(admin.library_settings(&list).await.unwrap().attachments);
        assert!(!admin.library_settings(&at("Documents")).await.unwrap().attachments);
        let first = row(&admin, &list, title, "a").await;
        let settings = LibrarySettings { versioning: Versioning::None, ..admin.library_settings(&list).await.unwrap() };
        admin.change_library(&list, settings).await.unwrap();
        let document = attach(&admin, first, "x.txt", "1").await.unwrap();
        attach(&admin, first, "x.txt", "2").await.unwrap();
        assert_eq!(admin.versions(&document.into(), None, 10).await.unwrap().items.len(), 1);
        for attachments in [false, true] {
            allow(&admin, &list, attachments).await;
            let draft = TemplateDraft { name: "plans".into(), title: "Plans".into(), ..TemplateDraft::default() };
            let template = admin.template_of(&list, draft).await.unwrap();
            assert!(template.write().contains(&format!("attachments = {attachments}")), "{}", template.write());
            let label = name(&format!("Made {attachments}"));
            let made = admin.create_list_from(&at(""), Some(&label), &template, "en").await.unwrap();
            assert_eq!(admin.library_settings(&made.id.into()).await.unwrap().attachments, attachments);
        }
        let site = repository::built_in_templates().iter().find(|template| template.name == "tasks").unwrap();
        let tasks = admin.create_list_from(&at(""), Some(&name("Usual")), site, "en").await.unwrap();
        assert!(admin.library_settings(&tasks.id.into()).await.unwrap().attachments);
    })
    .await;
}
