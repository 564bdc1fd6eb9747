//! Tests of permissions, on both engines.

use crate::support::{at, each_farm, get, names, put};
use model::{ErrorKind, Limits, Name, Principal, Role, TokenScopes};
use repository::{AuditFilter, Bin};

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_finds_nothing_and_changes_nothing() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (_, stranger) = farm.person("stranger").await;
        let saved = put(&admin, "Documents/secret/x.txt", "secret").await.unwrap();
        for path in ["", "Documents", "Documents/secret", "Documents/secret/x.txt", "Documents/none"] {
            assert_eq!(stranger.item(&at(path)).await.unwrap_err().kind(), ErrorKind::NotFound, "{path}");
        }
        assert_eq!(stranger.item(&saved.id.into()).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(put(&stranger, "Documents/new", "x").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(stranger.delete(&saved.id.into()).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(stranger.site_collections().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_above_the_place_of_a_token_is_not_told() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/public/deep/a.txt", "a").await.unwrap();
        let place = admin.item(&at("Documents/public")).await.unwrap().id;
        let limits = Limits { scopes: TokenScopes::ALL, roots: vec![place] };
        let token = farm.repository.as_caller(Principal { limits, ..admin.principal().clone() });
        for (path, told) in [("public", vec!["public"]), ("public/deep/a.txt", vec!["public", "deep", "a.txt"])] {
            let way = token.item_with_ancestors(&at(&format!("Documents/{path}"))).await.unwrap();
            assert_eq!(way.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), told);
        }
        assert_eq!(token.item(&at("Documents")).await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_shared_read_only_is_found_opened_and_not_changed() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, _) = farm.person("guest").await;
        put(&admin, "Documents/Offers/deep/a.txt", "a").await.unwrap();
        put(&admin, "Documents/Other/b.txt", "b").await.unwrap();
        admin.break_inheritance(&at("Documents/Offers"), true).await.unwrap();
        admin.grant(&at("Documents/Offers"), id, Role::READ).await.unwrap();
        let guest = farm.session(id).await;
        assert_eq!(names(&guest, "").await, ["Documents"]);
        assert_eq!(names(&guest, "Documents").await, ["Offers"]);
        assert_eq!(get(&guest, "Documents/Offers/deep/a.txt").await.unwrap(), "a");
        assert_eq!(get(&guest, "Documents/Other/b.txt").await.unwrap_err().kind(), ErrorKind::NotFound);
        for error in [
            put(&guest, "Documents/Offers/deep/a.txt", "changed").await.unwrap_err(),
            put(&guest, "Documents/Offers/new.txt", "new").await.unwrap_err(),
            guest.delete(&at("Documents/Offers/deep/a.txt")).await.unwrap_err(),
            guest.rename(&at("Documents/Offers/deep"), &Name::new("x").unwrap()).await.unwrap_err(),
            guest.check_out(&at("Documents/Offers/deep/a.txt")).await.unwrap_err(),
            guest.permissions(&at("Documents/Offers")).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
        }
        assert_eq!(get(&admin, "Documents/Offers/deep/a.txt").await.unwrap(), "a");
        let why = guest.explain(&at("Documents/Offers/deep/a.txt"), id).await.unwrap();
        assert_eq!(why.from_path, "Documents/Offers");
        assert_eq!(why.grants[0].role_name, "Read");
        admin.revoke(&at("Documents/Offers"), id, Role::READ).await.unwrap();
        assert_eq!(get(&guest, "Documents/Offers/deep/a.txt").await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_come_through_groups_and_go_with_them() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, _) = farm.person("member").await;
        let group = admin.create_group("Sales", "").await.unwrap();
        admin.grant(&at(""), group.id, Role::CONTRIBUTE).await.unwrap();
        admin.add_member(group.id, id).await.unwrap();
        let member = farm.session(id).await;
        put(&member, "Documents/a", "a").await.unwrap();
        let why = member.explain(&at("Documents/a"), id).await.unwrap();
        assert_eq!(why.grants[0].principal, group.id);
        admin.remove_member(group.id, id).await.unwrap();
        let member = farm.session(id).await;
        assert_eq!(get(&member, "Documents/a").await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_something_hidden_is_not_moved_or_deleted_and_copied_without_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, _) = farm.person("editor").await;
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        put(&admin, "Documents/f/open.txt", "open").await.unwrap();
        put(&admin, "Documents/f/hidden.txt", "hidden").await.unwrap();
        put(&admin, "Documents/g/x", "x").await.unwrap();
        admin.break_inheritance(&at("Documents/f/hidden.txt"), false).await.unwrap();
        let editor = farm.session(id).await;
        assert_eq!(names(&editor, "Documents/f").await, ["open.txt"]);
        let refused = editor.delete(&at("Documents/f")).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        let refused = editor.move_to(&at("Documents/f"), &at("Documents/g"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        editor.copy_to(&at("Documents/f"), &at("Documents/g"), None).await.unwrap();
        assert_eq!(names(&admin, "Documents/g/f").await, ["open.txt"]);
        let error = put(&editor, "Documents/f/hidden.txt", "guess").await.unwrap_err();
        assert_eq!(error.code(), "name_taken");
        assert_eq!(get(&admin, "Documents/f/hidden.txt").await.unwrap(), "hidden");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_items_take_the_permissions_of_their_place_unless_they_own_some() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, _) = farm.person("reader").await;
        put(&admin, "Documents/open/x", "x").await.unwrap();
        put(&admin, "Documents/closed/own/y", "y").await.unwrap();
        put(&admin, "Documents/closed/z", "z").await.unwrap();
        admin.break_inheritance(&at("Documents/open"), true).await.unwrap();
        admin.grant(&at("Documents/open"), id, Role::READ).await.unwrap();
        admin.break_inheritance(&at("Documents/closed/own"), true).await.unwrap();
        let reader = farm.session(id).await;
        admin.move_to(&at("Documents/closed/z"), &at("Documents/open"), None).await.unwrap();
        admin.move_to(&at("Documents/closed/own"), &at("Documents/open"), None).await.unwrap();
        assert_eq!(get(&reader, "Documents/open/z").await.unwrap(), "z");
        assert!(get(&reader, "Documents/open/own/y").await.is_err());
        admin.move_to(&at("Documents/open/x"), &at("Documents/closed"), None).await.unwrap();
        assert!(get(&reader, "Documents/closed/x").await.is_err());
        admin.restore_inheritance(&at("Documents/open/own")).await.unwrap();
        assert_eq!(get(&reader, "Documents/open/own/y").await.unwrap(), "y");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recycle_bin_is_for_its_person_and_for_who_manages_the_site() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (one_id, _) = farm.person("one").await;
        let (two_id, _) = farm.person("two").await;
        for id in [one_id, two_id] {
            admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        }
        let (one, two) = (farm.session(one_id).await, farm.session(two_id).await);
        let saved = put(&one, "Documents/x", "x").await.unwrap();
        let root = admin.item(&at("")).await.unwrap().id;
        let entry = one.delete(&saved.id.into()).await.unwrap();
        assert_eq!(one.recycled(root, Bin::Mine, None, 10).await.unwrap().items.len(), 1);
        assert!(two.recycled(root, Bin::Mine, None, 10).await.unwrap().items.is_empty());
        assert_eq!(two.recycled(root, Bin::Site, None, 10).await.unwrap_err().kind(), ErrorKind::Forbidden);
        assert_eq!(two.restore(root, entry).await.unwrap_err().kind(), ErrorKind::NotFound);
        one.purge(root, entry, Bin::Mine).await.unwrap();
        assert_eq!(one.restore(root, entry).await.unwrap_err().kind(), ErrorKind::NotFound);
        admin.restore(root, entry).await.unwrap();
        assert_eq!(get(&two, "Documents/x").await.unwrap(), "x");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_role_is_recorded_as_taken_and_given() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/Offers/a.txt", "a").await.unwrap();
        let (id, session) = farm.person("guest").await;
        let name = session.principal().display_name.clone();
        let offers = at("Documents/Offers");
        admin.break_inheritance(&offers, false).await.unwrap();
        admin.grant(&offers, id, Role::READ).await.unwrap();
        admin.change_role(&offers, id, Role::READ, Role::CONTRIBUTE).await.unwrap();
        let gone = admin.change_role(&offers, id, Role::READ, Role::CONTRIBUTE).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        admin.revoke(&offers, id, Role::CONTRIBUTE).await.unwrap();
        let collection = admin.item(&offers).await.unwrap().collection_id;
        let log = admin.audit_log(collection, AuditFilter::default(), None, 4).await.unwrap();
        let told: Vec<_> = log.items.iter().map(|event| (event.action.as_str(), event.detail.as_str())).collect();
        let ends = [
            ("permissions.revoke", format!("Contribute from {name}")),
            ("permissions.grant", format!("Contribute to {name}")),
            ("permissions.revoke", format!("Read from {name}")),
            ("permissions.grant", format!("Read to {name}")),
        ];
        assert_eq!(told.len(), ends.len(), "{told:?}");
        for ((action, detail), (expected, end)) in told.iter().zip(&ends) {
            assert!(action == expected && detail.ends_with(end), "{action} {detail}");
        }
    })
    .await;
}
