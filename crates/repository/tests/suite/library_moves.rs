//! Tests of moving whole libraries and lists between sites, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{change, new_list, text, titles};
use crate::support::{at, each_farm, get, put, with_rights};
use model::{Code, ErrorKind, LibrarySettings, Name, Right, Role, SitePath, Versioning};
use repository::{RowChange, Session};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

async fn with_team(admin: &Session) {
    admin.create_site(&at(""), &name("Team")).await.unwrap();
    put(admin, "Documents/folder/a.txt", "first").await.unwrap();
    put(admin, "Documents/folder/a.txt", "second").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_moves_to_another_site_with_all_that_it_holds() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        with_team(&admin).await;
        let (before, document) =
            (admin.item(&at("Documents")).await.unwrap(), admin.item(&at("Documents/folder/a.txt")).await.unwrap());
        let settings = admin.library_settings(&at("Documents")).await.unwrap();
        let moved = admin.move_to(&at("Documents"), &at("Team"), Some(&name("Papers"))).await.unwrap();
        assert_eq!((moved.id, moved.path.as_str(), moved.library_id), (before.id, "Team/Papers", before.id));
        assert_eq!(get(&admin, "Team/Papers/folder/a.txt").await.unwrap(), "second");
        assert_eq!(admin.item(&document.id.into()).await.unwrap().library_id, before.id);
        assert_eq!(admin.library_settings(&at("Team/Papers")).await.unwrap(), settings);
        assert_eq!(admin.item(&at("Documents")).await.unwrap_err().kind(), ErrorKind::NotFound);
        put(&admin, "Team/Papers/folder/b.txt", "new").await.unwrap();

        // Back, where the name is taken by now.
        admin.create_library(&at(""), &name("Papers"), LibrarySettings::default()).await.unwrap();
        let taken = admin.move_to(&moved.id.into(), &at(""), None).await.unwrap_err();
        assert_eq!(taken.code(), Code::NameTaken);
        admin.move_to(&moved.id.into(), &at(""), Some(&name("Documents"))).await.unwrap();
        assert_eq!(get(&admin, "Documents/folder/b.txt").await.unwrap(), "new");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_keeps_its_rows_and_permissions_follow_the_place() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        with_team(&admin).await;
        let (list, title) = new_list(&admin).await;
        change(&admin, &list, vec![RowChange::Add { set: vec![(title, text("One"))] }]).await;
        // Who may open the subsite only finds the list there.
        admin.break_inheritance(&at("Team"), false).await.unwrap();
        let (id, _) = farm.person("member").await;
        admin.grant(&at("Team"), id, Role::READ).await.unwrap();
        let member = farm.session(id).await;
        assert_eq!(member.item(&list).await.unwrap_err().kind(), ErrorKind::NotFound);
        admin.move_to(&list, &at("Team"), None).await.unwrap();
        let request = repository::ListRequest::default();
        assert_eq!(titles(&member, &list, &request, 10).await, ["One"]);
        change(&admin, &list, vec![RowChange::Add { set: vec![(title, text("Two"))] }]).await;
        assert_eq!(titles(&member, &list, &request, 10).await.len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_move_with_the_right_to_manage_them_on_both_sites_only() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        with_team(&admin).await;
        admin.create_library(&at("Team"), &name("Inner"), LibrarySettings::default()).await.unwrap();
        let rights = [Right::View, Right::Add, Right::Edit, Right::Delete];
        let (_, editor) = with_rights(&farm, "editor", "Team", &rights).await;
        let all = [rights.as_slice(), &[Right::ManageLibraries]].concat();
        let (id, _) = with_rights(&farm, "manager", "Team", &all).await;
        admin.grant(&at(""), id, Role::READ).await.unwrap();
        let manager = farm.session(id).await;
        let refused = editor.move_to(&at("Team/Inner"), &at("Team"), Some(&name("Other"))).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        // Out of the site, and into it.
        let refused = manager.move_to(&at("Team/Inner"), &at(""), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        let refused = manager.move_to(&at("Documents"), &at("Team"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        // What is in it and may not be managed stays where it is, and all else with it.
        admin.create_site(&at("Team"), &name("Deep")).await.unwrap();
        put(&admin, "Team/Inner/secret/a.txt", "x").await.unwrap();
        admin.break_inheritance(&at("Team/Inner/secret"), false).await.unwrap();
        let refused = manager.move_to(&at("Team/Inner"), &at("Team/Deep"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        admin.restore_inheritance(&at("Team/Inner/secret")).await.unwrap();
        manager.move_to(&at("Team/Inner"), &at("Team/Deep"), None).await.unwrap();

        // Without the right to delete what is in it.
        let few = [Right::View, Right::Add, Right::Edit, Right::ManageLibraries];
        let (_, few) = with_rights(&farm, "few", "Team", &few).await;
        admin.create_library(&at("Team"), &name("Plain"), LibrarySettings::default()).await.unwrap();
        let refused = few.move_to(&at("Team/Plain"), &at("Team/Deep"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);

        // Published documents of a library with drafts are shown to others by those only who may publish there.
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.create_library(&at("Team"), &name("Drafts"), drafts).await.unwrap();
        put(&admin, "Team/Drafts/a.txt", "x").await.unwrap();
        admin.break_inheritance(&at("Team/Deep"), true).await.unwrap();
        manager.move_to(&at("Team/Drafts"), &at("Team/Deep"), None).await.unwrap();
        admin.publish(&at("Team/Deep/Drafts/a.txt"), "").await.unwrap();
        let refused = manager.move_to(&at("Team/Deep/Drafts"), &at("Team"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);

        // What is published by approval moves with the right to approve, as switching approval off needs it.
        let by_approval = LibrarySettings {
            versioning: Versioning::MajorMinor,
            require_approval: true,
            ..LibrarySettings::default()
        };
        admin.create_library(&at("Team"), &name("Approved"), by_approval).await.unwrap();
        let refused = manager.move_to(&at("Team/Approved"), &at("Team/Deep"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);

        // Neither into libraries, nor to another site collection.
        let code = |error: model::Error| error.code();
        let to_library = admin.move_to(&at("Team/Deep/Inner"), &at("Documents"), None).await;
        assert_eq!(to_library.map(drop).map_err(code), Err(Code::WrongKind));
        assert_eq!(
            admin.move_to(&at("Team"), &at("Documents"), None).await.map(drop).map_err(code),
            Err(Code::WrongKind)
        );
        admin.create_site_collection(&SitePath::parse("other").unwrap(), "Other", None, None).await.unwrap();
        let elsewhere = admin.move_to(&at("Documents"), &at("other"), None).await;
        assert_eq!(elsewhere.map(drop).map_err(code), Err(Code::OtherCollection));
        assert_eq!(
            admin.copy_to(&at("Documents"), &at("other"), None).await.map(drop).map_err(code),
            Err(Code::OtherCollection)
        );
        // A name that is the address of a site collection.
        let reserved = admin.move_to(&at("Team/Deep/Inner"), &at(""), Some(&name("other"))).await;
        assert_eq!(reserved.map(drop).map_err(code), Err(Code::NameTaken));
    })
    .await;
}
