//! Tests of moving sites into other sites, on both engines.

use crate::support::rows::name;
use crate::support::{at, each_farm, get, names, put, with_rights};
use model::{Code, ErrorKind, LibrarySettings, Right, Role, SitePath, Versioning};

#[tokio::test(flavor = "multi_thread")]
async fn a_site_moves_with_all_that_it_holds_and_permissions_follow_the_place() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for (parent, site) in [("", "Team"), ("Team", "Inner"), ("", "Other")] {
            admin.create_site(&at(parent), &name(site)).await.unwrap();
        }
        admin.create_library(&at("Team/Inner"), &name("Papers"), LibrarySettings::default()).await.unwrap();
        put(&admin, "Team/Inner/Papers/a.txt", "a").await.unwrap();
        admin.break_inheritance(&at("Other"), false).await.unwrap();
        let (id, _) = farm.person("member").await;
        admin.grant(&at("Other"), id, Role::READ).await.unwrap();
        let member = farm.session(id).await;
        let before = admin.item(&at("Team/Inner")).await.unwrap();
        assert_eq!(member.item(&before.id.into()).await.unwrap_err().kind(), ErrorKind::NotFound);
        let moved = admin.move_to(&at("Team/Inner"), &at("Other"), Some(&name("Deep"))).await.unwrap();
        assert_eq!((moved.id, moved.path.as_str()), (before.id, "Other/Deep"));
        assert_eq!(get(&member, "Other/Deep/Papers/a.txt").await.unwrap(), "a");
        assert_eq!(names(&admin, "Team").await, Vec::<String>::new());
        put(&admin, "Other/Deep/Papers/b.txt", "b").await.unwrap();

        let code = |error: model::Error| error.code();
        let into_itself = admin.move_to(&at("Other"), &at("Other/Deep"), None).await;
        assert_eq!(into_itself.map(drop).map_err(code), Err(Code::IntoItself));
        let root = admin.move_to(&at(""), &at("Team"), None).await;
        assert_eq!(root.map(drop).map_err(code), Err(Code::WrongKind));
        admin.create_library(&at("Team"), &name("Deep"), LibrarySettings::default()).await.unwrap();
        let taken = admin.move_to(&at("Other/Deep"), &at("Team"), None).await;
        assert_eq!(taken.map(drop).map_err(code), Err(Code::NameTaken));
        admin.create_site_collection(&SitePath::parse("apart").unwrap(), "Apart", None, None).await.unwrap();
        let elsewhere = admin.move_to(&at("Other/Deep"), &at("apart"), None).await;
        assert_eq!(elsewhere.map(drop).map_err(code), Err(Code::OtherCollection));
        let reserved = admin.move_to(&at("Other/Deep"), &at(""), Some(&name("apart"))).await;
        assert_eq!(reserved.map(drop).map_err(code), Err(Code::NameTaken));
        // Below the address of a site is that of a site collection, which would hide what is in it.
        admin.create_site_collection(&SitePath::parse("Team/Sub/apart").unwrap(), "Apart", None, None).await.unwrap();
        for refused in [
            admin.move_to(&at("Other/Deep"), &at("Team"), Some(&name("Sub"))).await.unwrap_err(),
            admin.copy_to(&at("Other/Deep"), &at("Team"), Some(&name("sub"))).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), Code::NameTaken);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_move_with_all_rights_on_what_is_in_them() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for (parent, site) in [("", "Team"), ("Team", "Inner"), ("Team", "Goal")] {
            admin.create_site(&at(parent), &name(site)).await.unwrap();
        }
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.create_library(&at("Team/Inner"), &name("Pages"), drafts.clone()).await.unwrap();
        put(&admin, "Team/Inner/Pages/a.md", "x").await.unwrap();
        let needed = [Right::View, Right::Delete, Right::ManageLibraries, Right::ManageSite];
        // At the destination alone.
        let (all, _) = with_rights(&farm, "all", "Team/Inner", &needed).await;
        admin.grant(&at(""), all, Role::READ).await.unwrap();
        for (login, rights) in [("no-libraries", &[needed[0], needed[3]]), ("no-sites", &[needed[0], needed[2]])] {
            let role = admin.create_role(login, rights.iter().copied().collect()).await.unwrap().id;
            let admin = farm.administrator().await;
            if !admin.item(&at("Team/Goal")).await.unwrap().own_permissions {
                admin.break_inheritance(&at("Team/Goal"), false).await.unwrap();
            }
            admin.grant(&at("Team/Goal"), all, role).await.unwrap();
            let refused = farm.session(all).await.move_to(&at("Team/Inner"), &at("Team/Goal"), None).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Forbidden, "{login}");
            admin.revoke(&at("Team/Goal"), all, role).await.unwrap();
        }
        let admin = farm.administrator().await;
        admin.restore_inheritance(&at("Team/Goal")).await.unwrap();
        admin.restore_inheritance(&at("Team/Inner")).await.unwrap();
        for left_out in &needed[1..] {
            let rights: Vec<Right> = needed.iter().copied().filter(|right| right != left_out).collect();
            let (_, session) = with_rights(&farm, &format!("{left_out:?}").to_lowercase(), "Team", &rights).await;
            let refused = session.move_to(&at("Team/Inner"), &at("Team/Goal"), None).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Forbidden, "without {left_out:?}");
        }
        let (_, manager) = with_rights(&farm, "manager", "Team", &needed).await;
        // One document in it may not be deleted, so nothing moves.
        admin.break_inheritance(&at("Team/Inner/Pages/a.md"), false).await.unwrap();
        let refused = manager.move_to(&at("Team/Inner"), &at("Team/Goal"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        admin.restore_inheritance(&at("Team/Inner/Pages/a.md")).await.unwrap();
        manager.move_to(&at("Team/Inner"), &at("Team/Goal"), None).await.unwrap();
        manager.move_to(&at("Team/Goal/Inner"), &at("Team"), None).await.unwrap();

        // Other readers would see what is published, which takes the right to publish.
        admin.publish(&at("Team/Inner/Pages/a.md"), "").await.unwrap();
        admin.break_inheritance(&at("Team/Goal"), true).await.unwrap();
        let refused = manager.move_to(&at("Team/Inner"), &at("Team/Goal"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        let publisher = [needed.as_slice(), &[Right::Publish]].concat();
        let (id, publisher) = with_rights(&farm, "publisher", "Team", &publisher).await;
        let role = admin.role_by_name("publisher").await.unwrap().id;
        admin.grant(&at("Team/Goal"), id, role).await.unwrap();
        publisher.move_to(&at("Team/Inner"), &at("Team/Goal"), None).await.unwrap();
        let settings = LibrarySettings { require_approval: true, ..drafts };
        admin.change_library(&at("Team/Goal/Inner/Pages"), settings).await.unwrap();
        let refused = publisher.move_to(&at("Team/Goal/Inner"), &at("Team"), None).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden, "approval is needed to publish");
        admin.move_to(&at("Team/Goal/Inner"), &at("Team"), None).await.unwrap();
    })
    .await;
}
