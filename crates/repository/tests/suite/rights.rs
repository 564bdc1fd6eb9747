//! Tests of the reach of rights, and of the information in refusals; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use crate::support::{at, each_farm, get, names, put, to, with_rights};
use bytes::Bytes;
use model::{
    Accent, Error, ErrorKind, Id, LibrarySettings, Name, Right, Role, TokenScope, Versioning, grouped, readable_size,
};
use repository::{
    AuditFilter, Bin, CheckIn, LinkRule, NewLock, NewTokenRequest, NewView, OnConflict, Preconditions, Session,
    SiteChange, Target, Transfer, UploadOptions,
};

/// Gives an item its own permissions, under which only the administrator has access.
async fn hide(admin: &Session, place: &str) {
    admin.break_inheritance(&at(place), false).await.unwrap();
}

fn told(error: &Error) -> (ErrorKind, &'static str, String) {
    (error.kind(), error.code().as_str(), error.message().to_owned())
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn view(text: &str, shared: bool) -> NewView {
    NewView { name: name(text), query: "sort=size".into(), shared, standard: true }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_control_of_a_folder_does_not_reach_the_views_of_its_library() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/part/a.txt", "a").await.unwrap();
        let view_of_all = admin.save_view(&at("Documents"), view("All", true)).await.unwrap();
        let (id, _) = farm.person("part").await;
        admin.break_inheritance(&at("Documents/part"), true).await.unwrap();
        admin.grant(&at("Documents/part"), id, Role::FULL_CONTROL).await.unwrap();
        let part = farm.session(id).await;
        // A token limited to the folder reaches no further, whatever the rights of its owner.
        let folder = admin.item(&at("Documents/part")).await.unwrap().id;
        let owner = admin.principal().id;
        let scopes = [TokenScope::Read, TokenScope::Write, TokenScope::Manage].into_iter().collect();
        let wish = NewTokenRequest { scopes, places: vec![folder], ..NewTokenRequest::from("folder") };
        let token = admin.create_token(owner, wish).await.unwrap();
        let caller = farm
            .repository
            .caller_from_token(&token.secret, std::net::Ipv4Addr::LOCALHOST.into())
            .await
            .unwrap()
            .unwrap();
        let bound = farm.repository.as_caller(caller.principal);
        for (who, session) in [("part", &part), ("bound", &bound)] {
            for place in ["Documents/part", "Documents/part/a.txt"] {
                let saved = session.save_view(&at(place), view("All", true)).await.unwrap_err();
                let deleted = session.delete_view(&at(place), view_of_all).await.unwrap_err();
                assert_eq!(
                    (saved.kind(), deleted.kind()),
                    (ErrorKind::Forbidden, ErrorKind::Forbidden),
                    "{who} {place}"
                );
                assert!(!session.manages_library(&at(place)).await.unwrap());
            }
            let own = session.save_view(&at("Documents/part"), view("Own", false)).await.unwrap();
            session.delete_view(&at("Documents/part"), own).await.unwrap();
        }
        let views = admin.views(&at("Documents")).await.unwrap();
        assert_eq!(views.iter().map(|view| view.id).collect::<Vec<_>>(), [view_of_all]);
        // A user who manages the library can also do so from an item inside it.
        admin.save_view(&at("Documents/part"), view("All", true)).await.unwrap();
        admin.delete_view(&at("Documents/part/a.txt"), view_of_all).await.unwrap();
        assert!(admin.space(&at("Documents/part")).await.is_ok());
        assert_eq!(bound.space(&at("Documents/part")).await.unwrap_err().kind(), ErrorKind::Forbidden);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_change_of_a_site_collection_that_is_refused_nothing_is_done() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (owner, _) = farm.person("owner").await;
        admin.grant(&at(""), owner, Role::FULL_CONTROL).await.unwrap();
        let owner = farm.session(owner).await;
        let root = admin.item(&at("")).await.unwrap().id;
        let before = admin.site_collection(root).await.unwrap();
        let change = |title: &str, quota| SiteChange {
            title: Some(title.to_owned()),
            accent: Some(Accent::ALL[3]),
            quota_bytes: Some(Some(quota)),
            audit_reads: Some(true),
        };
        for (who, change) in [
            (&admin, change(" ", 5)),
            (&admin, change("a\u{7}", 5)),
            (&admin, change("New", u64::MAX)),
            (&owner, change("New", 5)),
        ] {
            assert!(who.change_site_collection(root, change).await.is_err());
        }
        assert_eq!(format!("{:?}", admin.site_collection(root).await.unwrap()), format!("{before:?}"));
        admin.change_site_collection(root, change("New", 5_000)).await.unwrap();
        let after = admin.site_collection(root).await.unwrap();
        assert_eq!((after.title.as_str(), after.usage.unwrap().quota_bytes), ("New", Some(5_000)));
        assert_eq!(admin.item(&at("")).await.unwrap().name, "New");
    })
    .await;
}

async fn make_library(admin: &Session, text: &str, versioning: Versioning) {
    let settings = LibrarySettings { versioning, ..LibrarySettings::default() };
    admin.create_library(&at(""), &name(text), settings).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_publishes_nothing_without_the_right_to_publish() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        make_library(&admin, "Plain", Versioning::None).await;
        make_library(&admin, "Drafts", Versioning::MajorMinor).await;
        put(&admin, "Drafts/open/seen.txt", "seen").await.unwrap();
        let (id, writer) =
            with_rights(&farm, "writer", "Plain", &[Right::View, Right::Add, Right::Edit, Right::Delete]).await;
        let admin = farm.administrator().await;
        let role = admin.role_by_name("writer").await.unwrap().id;
        admin.break_inheritance(&at("Drafts"), true).await.unwrap();
        admin.grant(&at("Drafts"), id, role).await.unwrap();
        admin.grant(&at("Plain"), farm.person("reader").await.0, Role::READ).await.unwrap();
        put(&writer, "Plain/a.txt", "unread").await.unwrap();
        put(&writer, "Plain/box/b.txt", "unread").await.unwrap();
        let forced = Transfer { overwrite: true, ..Transfer::default() };
        for from in ["Plain/a.txt", "Plain/box"] {
            let moved = writer.move_to(&at(from), &at("Drafts/open"), None).await.unwrap_err();
            assert_eq!(moved.code(), "would_publish", "{from}");
            assert!(moved.message().contains("copy it"), "{}", moved.message());
            let moved = writer.move_onto(&at(from), &at("Drafts"), &name("new"), forced.clone()).await.unwrap_err();
            assert_eq!(moved.kind(), ErrorKind::Forbidden, "{from}");
            let many = writer.move_many(&[admin.item(&at(from)).await.unwrap().id], &at("Drafts")).await.unwrap();
            assert_eq!(many[0].error.as_ref().map(Error::kind), Some(ErrorKind::Forbidden), "{from}");
        }
        // Copies, and moves over an existing document, create drafts.
        writer.copy_to(&at("Plain/a.txt"), &at("Drafts/open"), None).await.unwrap();
        writer.copy_onto(&at("Plain/box"), &at("Drafts"), &name("copied"), forced.clone()).await.unwrap();
        writer.move_onto(&at("Plain/a.txt"), &at("Drafts/open"), &name("seen.txt"), forced).await.unwrap();
        let (reader, _) = farm.person("looker").await;
        admin.grant(&at("Drafts"), reader, Role::READ).await.unwrap();
        let reader = farm.session(reader).await;
        assert!(names(&reader, "Drafts/open").await.is_empty());
        assert!(names(&reader, "Drafts/copied").await.is_empty());
        // Publishing is also refused for a move between folders of the same library with different readers.
        admin.publish(&at("Drafts/open/seen.txt"), "").await.unwrap();
        admin.break_inheritance(&at("Drafts/open"), true).await.unwrap();
        let refused = writer.move_to(&at("Drafts/open/seen.txt"), &at("Drafts/copied"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        put(&writer, "Drafts/open/draft.txt", "draft").await.unwrap();
        writer.move_to(&at("Drafts/open/draft.txt"), &at("Drafts/copied"), None).await.unwrap();
        assert!(names(&reader, "Drafts/copied").await.is_empty());
        // A move between folders with the same readers changes nothing and is allowed.
        admin.create_folder(&at("Drafts/open"), &name("below")).await.unwrap();
        writer.move_to(&at("Drafts/open/seen.txt"), &at("Drafts/open/below"), None).await.unwrap();
        admin.move_to(&at("Plain/box"), &at("Drafts"), None).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_made_is_not_erased_by_moving_it_over_another_document() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        make_library(&admin, "Plain", Versioning::None).await;
        let (_, alice) = with_rights(&farm, "alice", "Plain", &[Right::View, Right::Add, Right::Edit]).await;
        put(&admin, "Plain/of bob.txt", "bob's").await.unwrap();
        put(&admin, "Plain/other.txt", "other").await.unwrap();
        put(&alice, "Plain/of bob.txt", "alice's").await.unwrap();
        let forced = Transfer { overwrite: true, ..Transfer::default() };
        let (plain, other) = (at("Plain"), name("other.txt"));
        let erased = alice.move_onto(&at("Plain/of bob.txt"), &plain, &other, forced.clone()).await.unwrap_err();
        assert_eq!((erased.kind(), erased.lack().map(|lack| lack.right)), (ErrorKind::Forbidden, Some(Right::Delete)));
        assert_eq!(get(&admin, "Plain/other.txt").await.unwrap(), "other");
        // A user who may delete the document finds it in the recycle bin afterwards.
        put(&admin, "Plain/third.txt", "third").await.unwrap();
        let root = admin.item(&at("")).await.unwrap().id;
        admin.move_onto(&at("Plain/of bob.txt"), &plain, &name("third.txt"), forced.clone()).await.unwrap();
        assert_eq!(admin.recycled(root, Bin::Mine, None, 10).await.unwrap().items.len(), 1);
        // A file made for the save merges into the document.
        put(&alice, "Plain/new.tmp", "saved").await.unwrap();
        alice.move_onto(&at("Plain/new.tmp"), &plain, &other, forced).await.unwrap();
        assert_eq!(get(&admin, "Plain/other.txt").await.unwrap(), "saved");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_made_and_somebody_emptied_goes_to_the_bin() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        make_library(&admin, "Plain", Versioning::None).await;
        let rights = [Right::View, Right::Add, Right::Edit, Right::Delete];
        let (_, alice) = with_rights(&farm, "alice", "Plain", &rights).await;
        put(&admin, "Plain/a.txt", "bob's").await.unwrap();
        put(&alice, "Plain/a.txt", "").await.unwrap();
        alice.rename(&at("Plain/a.txt"), &name("a.tmp")).await.unwrap();
        alice.delete_file(&at("Plain/a.tmp"), Preconditions::default()).await.unwrap();
        let root = admin.item(&at("")).await.unwrap().id;
        assert_eq!(admin.recycled(root, Bin::Site, None, 10).await.unwrap().items.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_on_a_part_do_not_reach_the_site_collection() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/part/a.txt", "a").await.unwrap();
        admin.create_site(&at(""), &name("Sub")).await.unwrap();
        let (id, _) = farm.person("part").await;
        let entry = admin.delete(&put(&admin, "Documents/gone.txt", "gone").await.unwrap().id.into()).await.unwrap();
        for place in ["Documents/part", "Sub", "Documents"] {
            admin.break_inheritance(&at(place), true).await.unwrap();
            admin.grant(&at(place), id, Role::FULL_CONTROL).await.unwrap();
        }
        let part = farm.session(id).await;
        let root = admin.item(&at("")).await.unwrap().id;
        let before = admin.site_collection(root).await.unwrap();
        let absent = told(&part.site_collection(Id::new(42)).await.unwrap_err());
        for place in ["Documents/part", "Sub", "Documents", "Documents/part/a.txt"] {
            let item = admin.item(&at(place)).await.unwrap().id;
            let rule = Some(LinkRule { most_days: 7 });
            for asker in [&part, &admin] {
                let refused = [
                    asker.audit_log(item, AuditFilter::default(), None, 10).await.map(drop),
                    asker.set_link_rule(item, rule).await,
                    asker.set_appearance(item, Some("Mine"), Some(Accent::ALL[3])).await,
                    asker.set_audit_reads(item, true).await,
                    asker.recycled(item, Bin::Site, None, 10).await.map(drop),
                    asker.recycled(item, Bin::Mine, None, 10).await.map(drop),
                    asker.empty_bin(item, Bin::Site).await.map(drop),
                    asker.purge(item, entry, Bin::Site).await,
                    asker.restore(item, entry).await.map(drop),
                    asker.site_collection(item).await.map(drop),
                ];
                for (index, refused) in refused.into_iter().enumerate() {
                    assert_eq!(told(&refused.unwrap_err()), absent, "{index} on {place}");
                }
            }
        }
        assert_eq!(part.set_appearance(root, Some("Mine"), None).await.unwrap_err().kind(), ErrorKind::NotFound);
        let after = admin.site_collection(root).await.unwrap();
        assert_eq!((after.title, after.accent, after.audit_reads), (before.title, before.accent, false));
        assert_eq!(admin.link_rule(&at("")).await.unwrap(), None);
        assert_eq!(admin.recycled(root, Bin::Site, None, 10).await.unwrap().items.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_name_is_answered_like_a_free_one() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/open/x.txt", "x").await.unwrap();
        put(&admin, "Documents/open/Salaries/secret.txt", "s").await.unwrap();
        put(&admin, "Documents/open/Wages.txt", "w").await.unwrap();
        hide(&admin, "Documents/open/Salaries").await;
        hide(&admin, "Documents/open/Wages.txt").await;
        let (_, reader) = with_rights(&farm, "reader", "Documents", &[Right::View]).await;
        let (_, adder) = with_rights(&farm, "adder", "Documents/open", &[Right::View, Right::Add, Right::Edit]).await;
        let folder = admin.item(&at("Documents/open")).await.unwrap().id;
        let upload = |session: &Session, path: &str, options: UploadOptions| {
            let (session, path) = (session.clone(), to(path));
            async move { session.upload_bytes(&path, options, Bytes::from_static(b"n")).await.map(drop) }
        };
        for (hidden, free) in [("salaries", "nothing1"), ("wages.txt", "nothing2"), ("salaries/a", "nothing3/a")] {
            let none_matches = Preconditions { if_none_match: Some(vec!["*".into()]), ..Preconditions::default() };
            for options in [
                UploadOptions::default(),
                UploadOptions { on_conflict: OnConflict::Fail, ..UploadOptions::default() },
                UploadOptions { preconditions: none_matches, ..UploadOptions::default() },
                UploadOptions { create_parents: true, ..UploadOptions::default() },
            ] {
                let mut told_of = Vec::new();
                for tried in [hidden, free] {
                    let error = upload(&reader, &format!("Documents/open/{tried}"), options.clone()).await.unwrap_err();
                    let (kind, code, message) = told(&error);
                    told_of.push((kind, code, message.replace(tried.split('/').next().unwrap(), "*")));
                }
                assert_eq!(told_of[0], told_of[1], "{hidden}");
            }
        }
        for tried in ["salaries", "nothing"] {
            let refused = reader.create_folder(&folder.into(), &name(tried)).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Forbidden, "{tried}");
        }
        // A user who may add learns that the name is taken, and nothing about the item that has it.
        let open = Target::Id(folder);
        for (folder, document) in [("salaries", "x.txt"), ("wages.txt", "x.txt")] {
            let place = at(&format!("Documents/open/{document}"));
            let parents = UploadOptions { create_parents: true, ..UploadOptions::default() };
            let refused = [
                upload(&adder, &format!("Documents/open/{folder}"), UploadOptions::default()).await.unwrap_err(),
                upload(&adder, &format!("Documents/open/{folder}/new"), parents).await.unwrap_err(),
                adder.create_folder(&open, &name(folder)).await.unwrap_err(),
                adder.rename(&place, &name(folder)).await.unwrap_err(),
                adder.copy_onto(&place, &open, &name(folder), Transfer::default()).await.unwrap_err(),
                adder
                    .move_onto(&place, &open, &name(folder), Transfer { overwrite: true, ..Transfer::default() })
                    .await
                    .unwrap_err(),
            ];
            for error in refused {
                assert_eq!(error.code(), "name_taken", "{error}");
                let text = error.message().to_owned();
                assert!(!text.contains("Salaries"), "{text}");
                assert!(!text.contains("Wages"), "{text}");
                assert!(!text.contains("folder"), "{text}");
                assert!(!text.contains("document"), "{text}");
            }
        }
        assert_eq!(names(&admin, "Documents/open").await, ["Salaries", "Wages.txt", "x.txt"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn breaking_inheritance_gives_no_right_that_was_not_there() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/f/a.txt", "a").await.unwrap();
        let (id, keeper) = with_rights(&farm, "keeper", "Documents", &[Right::View, Right::ManagePermissions]).await;
        keeper.break_inheritance(&at("Documents/f"), false).await.unwrap();
        let rights = farm.session(id).await.item(&at("Documents/f")).await.unwrap().rights;
        let had = [Right::View, Right::ManagePermissions].into_iter().collect();
        assert_eq!(rights, had);
        let keeper = farm.session(id).await;
        assert_eq!(
            keeper.grant(&at("Documents/f"), id, Role::FULL_CONTROL).await.unwrap_err().code(),
            "role_too_great"
        );
        assert_eq!(keeper.delete(&at("Documents/f")).await.unwrap_err().kind(), ErrorKind::Forbidden);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_may_publish_makes_a_version_for_all() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.create_library(&at(""), &name("Drafts"), settings).await.unwrap();
        let published = UploadOptions { publish: true, ..UploadOptions::default() };
        let upload = |session: &Session, path: &str, options: &UploadOptions| {
            let (session, path, options) = (session.clone(), to(path), options.clone());
            async move { session.upload_bytes(&path, options, Bytes::from_static(b"new")).await }
        };
        upload(&admin, "Drafts/a.txt", &published).await.unwrap();
        let writer = [Right::View, Right::Add, Right::Edit];
        let (_, writer) = with_rights(&farm, "writer", "Drafts", &writer).await;
        let document = at("Drafts/a.txt");
        for path in ["Drafts/a.txt", "Drafts/new.txt"] {
            let refused = upload(&writer, path, &published).await.unwrap_err();
            assert_eq!(refused.lack().map(|lack| lack.right), Some(Right::Publish), "{path}: {refused}");
        }
        assert_eq!(names(&admin, "Drafts").await, ["a.txt"]);
        let draft = upload(&writer, "Drafts/a.txt", &UploadOptions::default()).await.unwrap();
        assert_eq!(draft.number.to_string(), "1.1");
        writer.check_out(&document).await.unwrap();
        upload(&writer, "Drafts/a.txt", &published).await.unwrap_err();
        upload(&writer, "Drafts/a.txt", &UploadOptions::default()).await.unwrap();
        let how = CheckIn { publish: true, ..CheckIn::default() };
        let refused = writer.check_in(&document, how.clone()).await.unwrap_err();
        assert_eq!(refused.lack().map(|lack| lack.right), Some(Right::Publish), "{refused}");
        assert!(admin.item(&document).await.unwrap().check_out.is_some());
        writer.check_in(&document, CheckIn { publish: false, ..how }).await.unwrap();
        // Only users who may see earlier versions can restore them.
        let refused = writer.restore_version(&document, draft.number, String::new()).await.unwrap_err();
        assert_eq!(refused.lack().map(|lack| lack.right), Some(Right::ViewVersions), "{refused}");
        // Publishing needs no right in a library without drafts: every version is visible to all.
        let (_, plain) = with_rights(&farm, "plain", "Documents", &[Right::View, Right::Add, Right::Edit]).await;
        upload(&plain, "Documents/p.txt", &published).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_not_deleted_by_moving_it_over_another() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "a").await.unwrap();
        put(&admin, "Documents/b.txt", "b").await.unwrap();
        let (_, writer) = with_rights(&farm, "writer", "Documents", &[Right::View, Right::Add, Right::Edit]).await;
        let over = Transfer { overwrite: true, ..Transfer::default() };
        let (place, onto) = (at("Documents"), name("b.txt"));
        let refused = writer.move_onto(&at("Documents/a.txt"), &place, &onto, over.clone()).await.unwrap_err();
        assert_eq!(refused.lack().map(|lack| lack.right), Some(Right::Delete), "{refused}");
        assert_eq!(get(&admin, "Documents/a.txt").await.unwrap(), "a");
        assert_eq!(get(&admin, "Documents/b.txt").await.unwrap(), "b");
        // A file made for this save is not deleted: it becomes the other document.
        put(&writer, "Documents/new.txt", "saved").await.unwrap();
        writer.move_onto(&at("Documents/new.txt"), &place, &onto, over).await.unwrap();
        assert_eq!(get(&admin, "Documents/b.txt").await.unwrap(), "saved");
    })
    .await;
}

fn deep() -> NewLock {
    NewLock { exclusive: true, deep: true, owner: String::new(), seconds: 3_600 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_lock_reaches_only_what_its_holder_may_edit() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let open = Target::Id(put(&admin, "Documents/f/open.txt", "x").await.unwrap().id);
        for path in ["Documents/f/canary/inner.txt", "Documents/g/canary.txt"] {
            put(&admin, path, "x").await.unwrap();
        }
        hide(&admin, "Documents/f/canary").await;
        hide(&admin, "Documents/g/canary.txt").await;
        let rights = [Right::View, Right::Edit, Right::Delete, Right::Add];
        let (_, editor) = with_rights(&farm, "editor", "Documents", &rights).await;
        let refused = editor.lock(&at("Documents/f"), deep()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden, "{refused}");
        assert!(!refused.message().contains("canary"), "{refused}");
        put(&admin, "Documents/f/canary/inner.txt", "still").await.unwrap();
        // A hidden item that prevents a change is not named, nor is its holder.
        admin.check_out(&at("Documents/f/canary/inner.txt")).await.unwrap();
        let held = NewLock { deep: false, ..deep() };
        admin.lock(&at("Documents/g/canary.txt"), held.clone()).await.unwrap();
        let over = Transfer::default();
        for (folder, to) in [("Documents/f", "f2"), ("Documents/g", "g2")] {
            let moved = editor.move_onto(&at(folder), &at("Documents"), &name(to), over.clone()).await.unwrap_err();
            let renamed = editor.rename(&at(folder), &name(to)).await.err();
            let deleted = editor.delete(&at(folder)).await.unwrap_err();
            for error in [Some(moved), renamed, Some(deleted)].into_iter().flatten() {
                let text = error.message().to_lowercase();
                assert!(!text.contains("canary"), "{text}");
                assert!(!text.contains("inner"), "{text}");
                assert!(!text.contains("admin"), "{text}");
                assert!(error.named().iter().all(|named| !named.contains("canary")), "{text}");
            }
        }
        // The caller may edit everything here, so the lock is refused only because of the locked item. The error names
        // the item, which the caller knows.
        admin.lock(&open, held).await.unwrap();
        let refused = editor.lock(&open, deep()).await.unwrap_err();
        assert!(refused.message().contains("open.txt"), "{refused}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_of_a_site_are_for_who_manages_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let root = admin.item(&at("")).await.unwrap().id;
        put(&admin, "Documents/big.txt", &"x".repeat(70_123)).await.unwrap();
        let (_, writer) = with_rights(&farm, "writer", "", &[Right::View, Right::Add, Right::Edit]).await;
        admin.set_quota(root, Some(80_000)).await.unwrap();
        assert_eq!(writer.space(&at("Documents")).await.unwrap_err().kind(), ErrorKind::Forbidden);
        assert_eq!(admin.space(&at("Documents")).await.unwrap().used, 70_123);
        let refused = put(&writer, "Documents/more.txt", &"y".repeat(20_000)).await.unwrap_err();
        assert_eq!(refused.code(), "quota_exceeded");
        for total in [70_123, 80_000] {
            for total in [total.to_string(), grouped(total), readable_size(total)] {
                assert!(!refused.message().contains(&total), "{refused}");
            }
        }
        let refused = put(&admin, "Documents/more.txt", &"y".repeat(20_000)).await.unwrap_err();
        assert!(refused.message().contains(&readable_size(70_123)), "{refused}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_passage_only_the_name_shows() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/closed/shared/a.txt", "a").await.unwrap();
        let (_, guest) = with_rights(&farm, "guest", "Documents/closed/shared", &[Right::View]).await;
        for place in ["Documents/closed", "Documents", ""] {
            let item = guest.item(&at(place)).await.unwrap();
            assert_eq!((item.created_by, item.modified_by), (Id::NONE, Id::NONE), "{place}");
            assert_eq!((item.created_at.micros(), item.modified_at.micros()), (0, 0), "{place}");
            assert!(!item.own_permissions, "{place}");
        }
        assert_ne!(guest.item(&at("Documents/closed/shared")).await.unwrap().created_by, Id::NONE);
    })
    .await;
}
