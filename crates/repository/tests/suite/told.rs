//! Tests of the log of an item, limited to the facts that each reader may know, and of removal in pieces; on both
//! engines.

#![expect(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::support::{Farm, at, each_farm, put};
use database::content::event::{self, EventRow};
use database::{Database, Schema};
use model::{ErrorKind, Id, Name, Role, Timestamp};
use repository::{AuditFilter, Bin, Client, LinkProof, LinkRule, NewLink, Session, Target};

async fn reader(farm: &Farm, place: &str) -> Session {
    let (id, _) = farm.person("reader").await;
    farm.administrator().await.grant(&at(place), id, Role::READ).await.unwrap();
    farm.session(id).await
}

async fn details(session: &Session, target: &Target) -> Vec<String> {
    session.activity(target, None, 100).await.unwrap().items.into_iter().map(|event| event.detail).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_an_item_tells_no_more_than_its_reader_may_know() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let root = admin.item(&at("")).await.unwrap().id;
        let document = Target::Id(put(&admin, "Documents/canary/first.txt", "1").await.unwrap().id);
        admin.break_inheritance(&at("Documents/canary"), false).await.unwrap();
        put(&admin, "Documents/open/x.txt", "x").await.unwrap();
        let (bob, _) = farm.person("bob").await;
        admin.rename(&document, &Name::new("canary.txt").unwrap()).await.unwrap();
        admin.move_to(&document, &at("Documents/open"), Some(&Name::new("a.txt").unwrap())).await.unwrap();
        admin.break_inheritance(&document, true).await.unwrap();
        admin.grant(&document, bob, Role::CONTRIBUTE).await.unwrap();
        put(&admin, "Documents/open/a.txt", "2").await.unwrap();
        admin.restore_version(&document, "1.0".parse().unwrap(), String::new()).await.unwrap();
        admin.set_link_rule(root, Some(LinkRule { most_days: 7 })).await.unwrap();
        let new = NewLink { days: 1, ..NewLink::default() };
        let (link, secret) = admin.share(&document, new).await.unwrap();
        let client = Client { address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), agent: String::new(), device: None };
        farm.repository
            .download_link(&LinkProof { link: link.id, secret, password: String::new(), client }, None)
            .await
            .unwrap();
        // Events in the older format, in which the parts of the detail were not separated.
        let Target::Id(id) = document else { unreachable!() };
        let content =
            Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await.unwrap();
        let me = admin.principal().id;
        for (action, detail) in [
            ("item.move", "Documents/canary/first.txt → Documents/open/a.txt"),
            ("permissions.grant", "Documents/open/a.txt: Contribute to BOB"),
            ("link.use", "Documents/open/a.txt from 192.0.2.8"),
        ] {
            let row = EventRow {
                sequence: 0,
                at: Timestamp::now(),
                actor_id: me,
                collection_id: root,
                node_id: id,
                action: action.into(),
                detail: detail.into(),
            };
            content.write(move |transaction| event::insert(transaction, &row)).await.unwrap();
        }
        content.close().await;
        let reader = reader(&farm, "").await;
        admin.grant(&document, reader.principal().id, Role::READ).await.unwrap();
        let reader = farm.session(reader.principal().id).await;
        let told = details(&reader, &document).await;
        assert!(told.len() >= 9, "{told:?}");
        assert!(told.contains(&"1.0 → 3.0".to_owned()), "{told:?}");
        for secret in ["canary", "BOB", "bob", "Contribute", "192.0.2", "Documents"] {
            assert!(told.iter().all(|detail| !detail.contains(secret)), "{secret}: {told:?}");
        }
        // Full control of the document alone reveals permissions and links, but no other location.
        let (owner, _) = farm.person("owner").await;
        admin.grant(&document, owner, Role::FULL_CONTROL).await.unwrap();
        let told = details(&farm.session(owner).await, &document).await;
        assert!(told.iter().any(|detail| detail.contains("Contribute to BOB")), "{told:?}");
        assert!(told.iter().any(|detail| detail.contains("192.0.2.7")), "{told:?}");
        assert!(told.iter().all(|detail| !detail.contains("canary")), "{told:?}");
        // A user who manages the site collection reads everything, unchanged.
        let told = details(&admin, &document).await;
        for (begin, end) in [
            ("Documents/canary/first.txt → ", "Documents/open/a.txt"),
            ("Documents/open/a.txt, link ", " from 192.0.2.7"),
        ] {
            assert!(told.iter().any(|detail| detail.starts_with(begin) && detail.ends_with(end)), "{begin}: {told:?}");
        }
        // The creator of a link is not recorded as its user, even in older events.
        let log = admin.audit_log(root, AuditFilter::default(), None, 100).await.unwrap().items;
        let uses: Vec<Id> = log.iter().filter(|event| event.action == "link.use").map(|event| event.actor).collect();
        assert_eq!(uses, [Id::NONE, Id::NONE]);
        let mine = AuditFilter { actor: Some(me), ..AuditFilter::default() };
        let mine = admin.audit_log(root, mine, None, 100).await.unwrap().items;
        assert!(mine.iter().all(|event| event.action != "link.use"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_log_end_with_what_their_reader_sees() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let root = admin.item(&at("")).await.unwrap().id;
        let document = Target::Id(put(&admin, "Documents/a.txt", "1").await.unwrap().id);
        let reader = reader(&farm, "").await;
        admin.set_audit_reads(root, true).await.unwrap();
        for _ in 0..5 {
            crate::support::get(&admin, "Documents/a.txt").await.unwrap();
        }
        let page = reader.activity(&document, None, 1).await.unwrap();
        assert_eq!(page.items.len(), 1);
        assert_eq!((page.items[0].action.as_str(), page.next), ("document.create", None));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_folder_goes_in_pieces_and_what_was_cut_off_goes_later() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let root = admin.item(&at("")).await.unwrap().id;
        let usage = || async { admin.site_collection(root).await.unwrap().usage.unwrap() };
        for i in 0..30 {
            put(&admin, &format!("Documents/seed/d{i}.txt"), "x").await.unwrap();
        }
        let before = usage().await;
        for i in 0..3 {
            put(&admin, "Documents/seed/many.txt", &format!("version {i}")).await.unwrap();
        }
        for i in 0..44 {
            let name = Name::new(format!("copy {i}")).unwrap();
            put(&admin, &format!("Documents/large/deep {}/x.txt", i % 3), "x").await.unwrap();
            let to = format!("Documents/large/deep {}", i % 3);
            admin.copy_to(&at("Documents/seed"), &at(&to), Some(&name)).await.unwrap();
        }
        admin.break_inheritance(&at("Documents/large/deep 1"), true).await.unwrap();
        let entry = admin.delete(&at("Documents/large")).await.unwrap();
        // The client disconnects during the removal. Nothing refers to the remaining items any more, and the next
        // clean-up removes them.
        let removed = tokio::time::timeout(Duration::from_millis(10), admin.purge(root, entry, Bin::Site)).await;
        println!("cut off: {}", removed.is_err());
        // The interrupted call's transaction completes before this call. Either this call takes the entry out of the
        // bin, or it finds none.
        if let Err(error) = admin.purge(root, entry, Bin::Site).await {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
        assert!(admin.recycled(root, Bin::Site, None, 10).await.unwrap().items.iter().all(|item| item.id != entry));
        assert!(admin.restore(root, entry).await.is_err());
        admin.clean_up(Duration::from_secs(1_000_000)).await.unwrap();
        let after = usage().await;
        assert_eq!(after.documents, before.documents + 1);
        let content =
            Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await.unwrap();
        let left = content.read(|reader| database::content::tree::children(reader, Id::new(-1), 10)).await.unwrap();
        assert_eq!(left, []);
        content.close().await;
        assert_eq!(crate::support::get(&admin, "Documents/seed/d1.txt").await.unwrap(), "x");
    })
    .await;
}
