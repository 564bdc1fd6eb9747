//! Tests of the guarantees for users who work with documents, on both engines.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a helper fails the test")]

use crate::support::{at, each_farm, get, names, put, read, to};
use bytes::Bytes;
use database::content::followed;
use database::content::node::{self, NodeRow};
use database::{Database, Schema, Transaction};
use model::{Code, ErrorKind, Id, LibrarySettings, MAX_DEPTH, Name, Timestamp, VersionNumber, Versioning};
use repository::{
    Bin, CheckIn, NewView, OnConflict, Preconditions, Session, Sort, Transfer, UploadOptions, VersionChoice,
};

fn number(text: &str) -> VersionNumber {
    text.parse().unwrap()
}

async fn version_numbers(session: &Session, path: &str) -> Vec<String> {
    let page = session.versions(&at(path), None, 100).await.unwrap();
    page.items.into_iter().map(|version| version.number.to_string()).collect()
}

async fn library(session: &Session, name: &str, settings: LibrarySettings) {
    session.create_library(&at(""), &Name::new(name).unwrap(), settings).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_stored_replaced_and_its_versions_restored() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let first = put(&admin, "Documents/a/b/Plan.txt", "one").await.unwrap();
        assert!(first.created);
        assert!(first.number == number("1.0"));
        let large = "x".repeat(3_000_000);
        let second = put(&admin, "documents/A/B/plan.TXT", &large).await.unwrap();
        assert!(!second.created);
        assert!(second.id == first.id);
        assert!(second.name == "Plan.txt");
        assert_eq!(get(&admin, "Documents/a/b/Plan.txt").await.unwrap(), large);
        let old = VersionChoice::Number(number("1.0"));
        assert_eq!(read(&admin, &first.id.into(), old).await.unwrap(), "one");
        assert_eq!(admin.restore_version(&first.id.into(), number("1.0"), String::new()).await.unwrap(), number("3.0"));
        assert_eq!(get(&admin, "Documents/a/b/Plan.txt").await.unwrap(), "one");
        assert_eq!(version_numbers(&admin, "Documents/a/b/Plan.txt").await, ["3.0", "2.0", "1.0"]);
        let error = admin.delete_version(&first.id.into(), number("3.0")).await.unwrap_err();
        assert_eq!(error.code(), "version_in_use");
        admin.delete_version(&first.id.into(), number("2.0")).await.unwrap();
        assert_eq!(version_numbers(&admin, "Documents/a/b/Plan.txt").await, ["3.0", "1.0"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_size_around_the_thresholds_comes_back_whole_and_in_parts() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for size in [0, 1, 16 * 1024 - 1, 16 * 1024, 70_000, 1 << 20, (1 << 20) + 1, 5_000_000] {
            let bytes: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
            let path = format!("Documents/{size}");
            let options = UploadOptions::default();
            admin.upload_bytes(&to(&path), options, Bytes::from(bytes.clone())).await.unwrap();
            let mut content = admin.open(&at(&path), VersionChoice::Visible).await.unwrap();
            let (start, end) = (size as u64 / 3, size as u64 - size as u64 / 5);
            content.set_range(repository::ReadRange { start, end });
            let mut part = Vec::new();
            while let Some(chunk) = content.next_chunk().await.unwrap() {
                part.extend_from_slice(&chunk);
            }
            assert!(part == bytes[start as usize..end as usize], "{size}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_are_for_editors_and_publishing_shows_them() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (reader_id, _) = farm.person("reader").await;
        library(&admin, "Drafts", LibrarySettings { versioning: Versioning::MajorMinor, ..Default::default() }).await;
        admin.grant(&at(""), reader_id, model::Role::READ).await.unwrap();
        let reader = farm.session(reader_id).await;
        let saved = put(&admin, "Drafts/x.txt", "draft").await.unwrap();
        assert_eq!(saved.number, number("0.1"));
        assert_eq!(get(&reader, "Drafts/x.txt").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(names(&reader, "Drafts").await.is_empty());
        assert_eq!(admin.publish(&at("Drafts/x.txt"), "first").await.unwrap(), number("1.0"));
        put(&admin, "Drafts/x.txt", "next draft").await.unwrap();
        assert_eq!(get(&reader, "Drafts/x.txt").await.unwrap(), "draft");
        let item = reader.item(&at("Drafts/x.txt")).await.unwrap();
        assert_eq!((item.size, item.version), (5, number("1.0")));
        assert_eq!(get(&admin, "Drafts/x.txt").await.unwrap(), "next draft");
        assert_eq!(version_numbers(&reader, "Drafts/x.txt").await, ["1.0"]);
        let hidden = read(&reader, &saved.id.into(), VersionChoice::Number(number("1.1"))).await;
        assert_eq!(hidden.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_an_error_nor_a_figure_tells_a_reader_of_what_is_hidden() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (reader_id, _) = farm.person("reader").await;
        library(&admin, "Drafts", LibrarySettings { versioning: Versioning::MajorMinor, ..Default::default() }).await;
        admin.grant(&at(""), reader_id, model::Role::READ).await.unwrap();
        let reader = farm.session(reader_id).await;
        let id = put(&admin, "Drafts/x.txt", "draft").await.unwrap().id;
        admin.publish(&at("Drafts/x.txt"), "first").await.unwrap();
        put(&admin, "Drafts/x.txt", "next draft").await.unwrap();
        let ask = async |session: &Session, version: &str| {
            read(session, &id.into(), VersionChoice::Number(number(version)))
                .await
                .map_err(|error| error.message().to_owned())
        };
        assert_eq!(ask(&reader, "1.1").await.unwrap_err(), ask(&reader, "1.2").await.unwrap_err());
        assert_eq!(ask(&admin, "1.1").await.unwrap(), "next draft");
        let replaced = async |session: &Session| {
            let events = session.activity(&id.into(), None, 100).await.unwrap().items;
            events.iter().filter(|event| event.action == "document.replace").count()
        };
        assert_eq!((replaced(&reader).await, replaced(&admin).await), (0, 1));
        let root = admin.item(&at("")).await.unwrap().id;
        assert!(reader.site_collection(root).await.unwrap().usage.is_none());
        assert_eq!(admin.site_collection(root).await.unwrap().usage.unwrap().documents, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_out_keeps_others_away_and_names_the_holder() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (editor_id, _) = farm.person("editor").await;
        admin.grant(&at(""), editor_id, model::Role::CONTRIBUTE).await.unwrap();
        let editor = farm.session(editor_id).await;
        let path = "Documents/report.txt";
        put(&admin, path, "one").await.unwrap();
        editor.check_out(&at(path)).await.unwrap();
        let error = put(&admin, path, "mine").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Locked, Code::CheckedOut));
        assert!(error.message().contains("EDITOR"), "{error}");
        assert_eq!(admin.delete(&at("Documents/report.txt")).await.unwrap_err().kind(), ErrorKind::Locked);
        put(&admin, "Documents/in/held.txt", "one").await.unwrap();
        editor.check_out(&at("Documents/in/held.txt")).await.unwrap();
        let folder = admin.delete(&at("Documents/in")).await.unwrap_err();
        assert!(folder.message().contains("held.txt"), "{folder}");
        assert!(folder.message().contains("EDITOR"), "{folder}");
        put(&editor, path, "working").await.unwrap();
        put(&editor, path, "working again").await.unwrap();
        assert_eq!(get(&admin, path).await.unwrap(), "one");
        assert_eq!(get(&editor, path).await.unwrap(), "working again");
        let how = CheckIn { comment: "done".into(), ..CheckIn::default() };
        assert_eq!(editor.check_in(&at(path), how).await.unwrap(), number("2.0"));
        assert_eq!(get(&admin, path).await.unwrap(), "working again");
        editor.check_out(&at(path)).await.unwrap();
        put(&editor, path, "thrown away").await.unwrap();
        admin.discard_check_out(&at(path)).await.unwrap();
        assert_eq!(get(&editor, path).await.unwrap(), "working again");
        let page = admin.versions(&at(path), None, 10).await.unwrap();
        assert_eq!(page.items[0].comment, "done");
        assert_eq!(page.items.len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_can_demand_check_out_and_limit_versions() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        library(&admin, "Strict", LibrarySettings { require_checkout: true, ..Default::default() }).await;
        put(&admin, "Strict/x", "one").await.unwrap();
        assert_eq!(put(&admin, "Strict/x", "two").await.unwrap_err().code(), "checkout_required");
        library(&admin, "Short", LibrarySettings { major_limit: 3, ..Default::default() }).await;
        for i in 0..6 {
            put(&admin, "Short/x", &format!("content {i}")).await.unwrap();
        }
        assert_eq!(version_numbers(&admin, "Short/x").await, ["6.0", "5.0", "4.0"]);
        library(&admin, "Plain", LibrarySettings { versioning: Versioning::None, ..Default::default() }).await;
        put(&admin, "Plain/x", "one").await.unwrap();
        put(&admin, "Plain/x", "two").await.unwrap();
        assert_eq!(version_numbers(&admin, "Plain/x").await, ["1.0"]);
        assert_eq!(get(&admin, "Plain/x").await.unwrap(), "two");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditional_and_repeated_writes_store_once() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let saved = put(&admin, "Documents/c", "one").await.unwrap();
        let with = |preconditions| UploadOptions { preconditions, ..UploadOptions::default() };
        let bytes = || Bytes::from_static(b"two");
        let fresh = with(Preconditions { if_none_match: Some(vec!["*".into()]), ..Default::default() });
        let error = admin.upload_bytes(&to("Documents/c"), fresh, bytes()).await.unwrap_err();
        assert_eq!(error.code(), "precondition_failed");
        let matching = with(Preconditions { if_match: Some(vec![saved.etag()]), ..Default::default() });
        admin.upload_bytes(&to("Documents/c"), matching.clone(), bytes()).await.unwrap();
        let error = admin.upload_bytes(&to("Documents/c"), matching, bytes()).await.unwrap_err();
        assert_eq!(error.code(), "precondition_failed");
        let keyed = UploadOptions { idempotency_key: Some("k1".into()), ..UploadOptions::default() };
        let first = admin.upload_bytes(&to("Documents/k"), keyed.clone(), bytes()).await.unwrap();
        let again = admin.upload_bytes(&to("Documents/k"), keyed.clone(), bytes()).await.unwrap();
        assert_eq!(first.version_id, again.version_id);
        let other = admin.upload_bytes(&to("Documents/k2"), keyed, bytes()).await.unwrap_err();
        assert_eq!(other.code(), "idempotency_key_reused");
        let both = UploadOptions { on_conflict: OnConflict::KeepBoth, ..UploadOptions::default() };
        let kept = admin.upload_bytes(&to("Documents/c"), both, bytes()).await.unwrap();
        assert_eq!(kept.name, "c (2)");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_are_renamed_moved_copied_deleted_and_restored() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        library(&admin, "Archive", LibrarySettings::default()).await;
        put(&admin, "Documents/a/one.txt", "1").await.unwrap();
        put(&admin, "Documents/a/b/two.txt", "2").await.unwrap();
        let copy = admin.copy_to(&at("Documents/a"), &at("Documents"), None).await.unwrap();
        assert_eq!(copy.name, "a (2)");
        assert_eq!(get(&admin, "Documents/a (2)/b/two.txt").await.unwrap(), "2");
        let moved = admin.move_to(&at("Documents/a"), &at("Archive"), None).await.unwrap();
        assert_eq!(moved.path, "Archive/a");
        assert_eq!(get(&admin, "Archive/a/b/two.txt").await.unwrap(), "2");
        let into_itself = admin.move_to(&at("Archive/a"), &at("Archive/a/b"), None).await.unwrap_err();
        assert_eq!(into_itself.code(), "into_itself");
        // An item in a folder cannot replace the folder: it would go to the recycle bin with the folder.
        let (over, archive) = (Transfer { overwrite: true, ..Transfer::default() }, at("Archive"));
        let a = Name::new("a").unwrap();
        for inner in ["Archive/a/b", "Archive/a/b/two.txt"] {
            let copied = admin.copy_onto(&at(inner), &archive, &a, over.clone()).await.unwrap_err();
            let moved = admin.move_onto(&at(inner), &archive, &a, over.clone()).await.unwrap_err();
            assert_eq!((copied.code(), moved.code()), (Code::IntoItself, Code::IntoItself), "{copied} {moved}");
        }
        assert_eq!(get(&admin, "Archive/a/b/two.txt").await.unwrap(), "2");
        admin.rename(&at("Archive/a"), &Name::new("A").unwrap()).await.unwrap();
        let late = admin.rename_from(&at("Archive/A"), Some("a"), &Name::new("b").unwrap()).await.unwrap_err();
        assert_eq!(late.code(), "overtaken");
        admin.rename_from(&at("Archive/A"), Some("a"), &Name::new("A").unwrap()).await.unwrap();
        assert_eq!(names(&admin, "Archive").await, ["A"]);
        let before = admin.site_collection(moved.collection_id).await.unwrap();
        let entry = admin.delete(&at("Archive/A")).await.unwrap();
        assert_eq!(get(&admin, "Archive/A/one.txt").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(admin.item(&moved.id.into()).await.unwrap_err().kind(), ErrorKind::NotFound);
        put(&admin, "Archive/A", "in the way").await.unwrap();
        let restored = admin.restore(moved.collection_id, entry).await.unwrap();
        assert_eq!(restored.path, "Archive/A (2)");
        assert_eq!(get(&admin, "Archive/A (2)/b/two.txt").await.unwrap(), "2");
        let entry = admin.delete(&restored.id.into()).await.unwrap();
        admin.purge(moved.collection_id, entry, Bin::Mine).await.unwrap();
        admin.purge(moved.collection_id, entry, Bin::Mine).await.unwrap();
        assert_eq!(admin.restore(moved.collection_id, entry).await.unwrap_err().kind(), ErrorKind::NotFound);
        let after = admin.site_collection(moved.collection_id).await.unwrap();
        assert_eq!(after.usage.unwrap().documents, before.usage.unwrap().documents - 2 + 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_page_through_everything_once_in_each_order() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for i in 0..60 {
            put(&admin, &format!("Documents/doc {i:03}"), &format!("{i}")).await.unwrap();
            if i % 10 == 0 {
                admin.create_folder(&at("Documents"), &Name::new(format!("folder {i:03}")).unwrap()).await.unwrap();
            }
        }
        for (sort, down) in [(Sort::Name, false), (Sort::Name, true), (Sort::Modified, false), (Sort::Modified, true)] {
            let mut after = None;
            let mut seen = Vec::new();
            loop {
                let (_, page) = admin.list(&at("Documents"), sort, down, after, 7).await.unwrap();
                assert!(page.items.len() <= 7);
                seen.extend(page.items.into_iter().map(|item| item.name));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let mut expected: Vec<String> = (0..60).step_by(10).map(|i| format!("folder {i:03}")).collect();
            let mut documents: Vec<String> = (0..60).map(|i| format!("doc {i:03}")).collect();
            if down {
                documents.reverse();
            }
            if down && sort == Sort::Name {
                expected.reverse();
            }
            expected.extend(documents);
            assert_eq!(seen, expected, "{sort:?} {down}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_refuses_what_does_not_fit_and_purging_makes_room() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let root = admin.item(&at("")).await.unwrap().id;
        admin.set_quota(root, Some(100_000)).await.unwrap();
        put(&admin, "Documents/a", &"a".repeat(60_000)).await.unwrap();
        let error = put(&admin, "Documents/b", &"b".repeat(60_000)).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, Code::QuotaExceeded));
        let entry = admin.delete(&at("Documents/a")).await.unwrap();
        assert!(put(&admin, "Documents/b", &"b".repeat(60_000)).await.is_err());
        admin.purge(root, entry, Bin::Mine).await.unwrap();
        admin.purge(root, entry, Bin::Mine).await.unwrap();
        put(&admin, "Documents/b", &"b".repeat(60_000)).await.unwrap();
        // Purged from the site bin, an item that the caller deleted is removed at once.
        let entry = admin.delete(&at("Documents/b")).await.unwrap();
        admin.purge(root, entry, Bin::Site).await.unwrap();
        put(&admin, "Documents/c", &"c".repeat(60_000)).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_document_gets_deeper_by_moving_its_folder_than_it_could_be_created() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        // The root site and the library are levels too.
        let deep = |folders: usize| format!("Documents{}", "/f".repeat(folders));
        let (last, too_deep) = (deep(MAX_DEPTH - 3), deep(MAX_DEPTH - 2));
        put(&admin, &format!("{last}/text"), "deepest").await.unwrap();
        let created = put(&admin, &format!("{too_deep}/text"), "too deep").await.unwrap_err();
        assert_eq!(created.code(), Code::PathTooDeep);
        put(&admin, "Documents/box/text", "in a box").await.unwrap();
        let moved = admin.move_to(&at("Documents/box"), &at(&last), None).await.unwrap_err();
        let copied = admin.copy_to(&at("Documents/box"), &at(&last), None).await.unwrap_err();
        assert_eq!((moved.code(), copied.code()), (Code::PathTooDeep, Code::PathTooDeep));
        admin.move_to(&at("Documents/box"), &at(&deep(MAX_DEPTH - 4)), None).await.unwrap();
        assert_eq!(get(&admin, &format!("{}/box/text", deep(MAX_DEPTH - 4))).await.unwrap(), "in a box");
        let empty = admin.create_folder(&at("Documents"), &Name::new("empty").unwrap()).await.unwrap();
        admin.move_to(&empty.id.into(), &at(&last), None).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_a_followed_document_can_be_followed_again() {
    each_farm(|farm| async move {
        let session = farm.administrator().await;
        let (first, other) = (at("Documents/a.txt"), at("Documents/b.txt"));
        let id = put(&session, "Documents/a.txt", "a").await.unwrap().id;
        put(&session, "Documents/b.txt", "b").await.unwrap();
        session.set_followed(&first, true).await.unwrap();
        let content = Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await;
        let content = content.unwrap();
        let (caller, now) = (session.principal().id, Timestamp::now());
        let fill = move |transaction: &mut Transaction<'_>| {
            let document = node::find(transaction, id)?.unwrap();
            for number in 1..1_000 {
                let id = Id::new(number);
                node::insert(transaction, &NodeRow { id, folded: format!("copy {number}"), ..document.clone() })?;
                followed::put(transaction, caller, id, now)?;
            }
            Ok(())
        };
        content.write(fill).await.unwrap();
        content.close().await;
        session.set_followed(&first, true).await.unwrap();
        assert_eq!(session.set_followed(&other, true).await.unwrap_err().code(), "too_many");
        session.set_followed(&first, false).await.unwrap();
        session.set_followed(&other, true).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refusal_of_a_view_names_the_limit_that_applies() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let save = async |query: String| {
            let wish = NewView { name: Name::new("Long").unwrap(), query, shared: false, standard: false };
            admin.save_view(&at("Documents"), wish).await.map_err(|error| error.message().to_owned())
        };
        // Two bytes for each character.
        save("é".repeat(2_000)).await.unwrap();
        assert!(save("é".repeat(2_001)).await.unwrap_err().contains("4,000 bytes"));
        assert!(save("a\nb".to_owned()).await.unwrap_err().contains("control characters"));
    })
    .await;
}
