//! Tests of searching by name, on both engines: the matches, the caller's rights, and the order.

#![expect(clippy::unwrap_used, reason = "a farm that cannot be had fails the test")]

use crate::support::{at, each_farm, put};
use model::{LibrarySettings, Name, Role, SitePath, Versioning};
use repository::{Item, Session, Target};

async fn found(session: &Session, text: &str) -> Vec<String> {
    session.find_by_name(text, 50).await.unwrap().items.into_iter().map(|item| item.path).collect()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_match_anywhere_in_names_whatever_their_case() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for path in ["Offers/Große Übersicht 2026.pdf", "Offers/Offer A.txt", "Plan 100%_a.txt", "offer.txt"] {
            put(&admin, &format!("Documents/{path}"), "x").await.unwrap();
        }
        assert_eq!(found(&admin, "GROSSE 2026").await, ["Documents/Offers/Große Übersicht 2026.pdf"]);
        assert_eq!(found(&admin, "bersi").await, ["Documents/Offers/Große Übersicht 2026.pdf"]);
        // Containers first, then a document with exactly this name, then names that begin with it.
        let all = ["Documents/Offers", "Documents/offer.txt", "Documents/Offers/Offer A.txt"];
        assert_eq!(found(&admin, "offer").await, all);
        assert_eq!(found(&admin, "100%_").await, ["Documents/Plan 100%_a.txt"]);
        assert_eq!(found(&admin, "%").await.len(), 1);
        for nothing in ["zzz", "offer zzz", "'", "\\", "", " \u{0} "] {
            assert!(found(&admin, nothing).await.is_empty(), "{nothing:?}");
        }
        assert_eq!(found(&admin, "documents").await, ["Documents"]);
        let site = SitePath::parse("sites/sales").unwrap();
        admin.create_site_collection(&site, "Sales and Offers", None, None).await.unwrap();
        assert_eq!(found(&admin, "and off").await, ["sites/sales"]);
        assert!(admin.find_by_name(&"x".repeat(256), 50).await.is_err());
        let one = admin.find_by_name("offer", 1).await.unwrap();
        assert!(one.items.len() == 1);
        assert!(one.more);
        assert!(one.whole);
        assert!(!admin.find_by_name("grosse", 1).await.unwrap().more);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_finds_what_they_may_not_open() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for path in ["open/plan.txt", "open/deep/plan.txt", "secret/plan.txt", "plan.txt"] {
            put(&admin, &format!("Documents/{path}"), "x").await.unwrap();
        }
        let (account, person) = farm.person("berta").await;
        assert!(found(&person, "plan").await.is_empty());
        assert!(person.home(10).await.unwrap().recent.is_empty());
        admin.break_inheritance(&at("Documents/open"), false).await.unwrap();
        admin.grant(&at("Documents/open"), account, Role::READ).await.unwrap();
        let mut seen = found(&person, "plan").await;
        seen.sort();
        assert_eq!(seen, ["Documents/open/deep/plan.txt", "Documents/open/plan.txt"]);
        // The folders on the way to the item are known by name, but cannot be opened.
        assert!(found(&person, "documents").await.is_empty());
        admin.break_inheritance(&at("Documents/open/deep"), false).await.unwrap();
        assert_eq!(found(&person, "plan").await, ["Documents/open/plan.txt"]);
        assert!(found(&person, "deep").await.is_empty());
        let recent: Vec<Item> = person.home(10).await.unwrap().recent;
        assert_eq!(recent.iter().map(|item| item.path.as_str()).collect::<Vec<_>>(), ["Documents/open/plan.txt"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_and_deleted_items_stay_unknown() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (account, person) = farm.person("berta").await;
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        let root = Target::path("").unwrap();
        let library = admin.create_library(&root, &name("Papers"), drafts).await.unwrap();
        admin.grant(&root, account, Role::READ).await.unwrap();
        put(&admin, "Papers/memo.txt", "x").await.unwrap();
        assert_eq!(found(&admin, "memo").await.len(), 1);
        assert!(found(&person, "memo").await.is_empty(), "a draft is found by a reader");
        admin.publish(&at("Papers/memo.txt"), "").await.unwrap();
        assert_eq!(found(&person, "memo").await.len(), 1);
        put(&admin, "Papers/old/inside memo.txt", "x").await.unwrap();
        admin.delete(&at("Papers/old")).await.unwrap();
        admin.delete(&at("Papers/memo.txt")).await.unwrap();
        for session in [&admin, &person] {
            assert!(found(session, "memo").await.is_empty());
            assert!(found(session, "old").await.is_empty());
            assert!(session.home(10).await.unwrap().recent.is_empty());
        }
        assert_eq!(found(&admin, "papers").await, [library.path]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_changed_last_come_first_and_many_are_walked_through() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for i in 0..130 {
            put(&admin, &format!("Documents/many/note {i:03}.txt"), "x").await.unwrap();
        }
        put(&admin, "Documents/keep/a note.txt", "x").await.unwrap();
        for i in 0..130 {
            put(&admin, &format!("Documents/many/later note {i:03}.txt"), "x").await.unwrap();
        }
        let page = admin.find_by_name("note", 20).await.unwrap();
        assert!(page.items.len() == 20);
        assert!(page.more);
        assert!(page.whole);
        assert!(page.items.iter().all(|item| item.name.starts_with("later")));
        let recent = admin.home(3).await.unwrap().recent;
        let names: Vec<&str> = recent.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["later note 129.txt", "later note 128.txt", "later note 127.txt"]);
        // The recycle bin holds more matches than one statement returns; the document after them is still found.
        admin.delete(&at("Documents/many")).await.unwrap();
        assert_eq!(found(&admin, "note").await, ["Documents/keep/a note.txt"]);
        assert_eq!(admin.home(10).await.unwrap().recent.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_in_finds_their_own_work_and_the_sites_they_know() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for (path, title) in [("sites/b", "Beta"), ("sites/a", "alpha"), ("sites/c", "Gamma")] {
            admin.create_site_collection(&SitePath::parse(path).unwrap(), title, None, None).await.unwrap();
        }
        let (account, person) = farm.person("berta").await;
        let nothing = person.home(10).await.unwrap();
        assert!(nothing.sites.is_empty());
        assert!(nothing.recent.is_empty());
        assert!(nothing.checked_out.is_empty());
        let titles = |sites: Vec<repository::KnownSite>| sites.into_iter().map(|site| site.title).collect::<Vec<_>>();
        assert_eq!(titles(admin.sites(3).await.unwrap())[1..], ["alpha", "Beta"]);
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.create_library(&at("sites/a"), &name("Papers"), drafts).await.unwrap();
        admin.break_inheritance(&at("sites/a/Papers"), false).await.unwrap();
        admin.grant(&at("sites/a/Papers"), account, Role::CONTRIBUTE).await.unwrap();
        put(&person, "sites/a/Papers/mine.txt", "x").await.unwrap();
        put(&admin, "sites/a/Papers/theirs.txt", "x").await.unwrap();
        put(&admin, "sites/b/Other.txt", "x").await.unwrap_err();
        person.check_out(&at("sites/a/Papers/theirs.txt")).await.unwrap();
        let home = person.home(10).await.unwrap();
        let names = |items: &[Item]| items.iter().map(|item| item.name.clone()).collect::<Vec<_>>();
        assert_eq!(titles(home.sites.clone()), ["alpha"], "a site on the way to something is known");
        assert_eq!(names(&home.recent), ["theirs.txt", "mine.txt"]);
        assert_eq!(names(&home.checked_out), ["theirs.txt"]);
        assert_eq!(names(&home.drafts), ["mine.txt"]);
        // A subsite to which they were admitted, but not one that they find in its site, nor one that is deleted.
        for subsite in ["Team", "Gone", "Team/Inner", "Closed"] {
            let (above, label) = subsite.rsplit_once('/').unwrap_or(("", subsite));
            let above = format!("sites/b/{above}");
            admin.create_site(&at(above.trim_end_matches('/')), &name(label)).await.unwrap();
            admin.break_inheritance(&at(&format!("sites/b/{subsite}")), false).await.unwrap();
        }
        for subsite in ["Team", "Gone", "Team/Inner"] {
            admin.grant(&at(&format!("sites/b/{subsite}")), account, Role::READ).await.unwrap();
        }
        admin.delete(&at("sites/b/Gone")).await.unwrap();
        let home = person.home(10).await.unwrap();
        assert_eq!(titles(home.sites), ["alpha", "Beta"]);
        let reached: Vec<_> = home.subsites.iter().map(|site| site.path.as_str()).collect();
        assert_eq!(reached, ["sites/b/Team"]);
        assert!(admin.home(10).await.unwrap().subsites.is_empty());
        admin.revoke(&at("sites/b/Team"), account, Role::READ).await.unwrap();
        admin.revoke(&at("sites/b/Team/Inner"), account, Role::READ).await.unwrap();
        admin.revoke(&at("sites/a/Papers"), account, Role::CONTRIBUTE).await.unwrap();
        let after = person.home(10).await.unwrap();
        assert!(after.sites.is_empty());
        assert!(after.recent.is_empty());
        assert!(after.checked_out.is_empty());
        assert!(after.drafts.is_empty());
    })
    .await;
}
