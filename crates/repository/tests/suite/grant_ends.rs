//! Tests of grants that end, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use std::time::Duration;

use crate::support::{Farm, at, each_farm, get, names, put};
use model::{ErrorKind, Id, Role, Timestamp};
use repository::{AuditFilter, RoleGrant, Session};

/// The life of a grant in these tests: long enough for a few requests.
const LIFE: Duration = Duration::from_secs(3);

fn until(principal: Id, role: Id, life: Duration) -> RoleGrant {
    RoleGrant { principal, role, until: Some(Timestamp::now().after(life)) }
}

/// Waits until a session no longer finds an item.
async fn wait_until_hidden(session: &Session, path: &str) {
    let end = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        match session.item(&at(path)).await {
            Ok(_) => assert!(std::time::Instant::now() < end, "{path} is still there"),
            Err(error) => return assert_eq!(error.kind(), ErrorKind::NotFound),
        }
        // sleep: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn grants(farm: &Farm, path: &str, of: Id) -> Vec<(Id, Option<Timestamp>)> {
    let table = farm.administrator().await.permissions(&at(path)).await.unwrap();
    let own = table.grants.iter().filter(|grant| grant.principal == of);
    own.map(|grant| (grant.role, grant.until)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_ends_at_its_end_everywhere() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/Offers/a.txt", "a").await.unwrap();
        let (id, guest) = farm.person("guest").await;
        let offers = at("Documents/Offers");
        admin.break_inheritance(&offers, false).await.unwrap();
        let given = until(id, Role::CONTRIBUTE, LIFE);
        admin.grant_until(&offers, given).await.unwrap();
        assert_eq!(get(&guest, "Documents/Offers/a.txt").await.unwrap(), "a");
        assert_eq!(guest.shared_with_me(10).await.unwrap().items.len(), 1);
        // An upload that began before the end and finishes after it.
        let options = repository::UploadOptions::default();
        let upload = guest.begin_upload(&crate::support::to("Documents/Offers/late.txt"), options, None).await.unwrap();
        // Own permissions below have the same end, and so do the roles that their creator keeps.
        admin.break_inheritance(&at("Documents/Offers/a.txt"), true).await.unwrap();
        assert_eq!(grants(&farm, "Documents/Offers/a.txt", id).await, [(given.role, given.until)]);
        wait_until_hidden(&guest, "Documents/Offers").await;
        assert_eq!(upload.finish().await.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(get(&guest, "Documents/Offers/a.txt").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(guest.shared_with_me(10).await.unwrap().items.is_empty());
        assert!(guest.site_collections().await.unwrap().is_empty());
        assert!(admin.explain(&offers, id).await.unwrap().grants.is_empty());
        assert!(grants(&farm, "Documents/Offers", id).await.is_empty());
        let gone = admin.change_role(&offers, id, Role::CONTRIBUTE, Role::READ).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        // Given anew, without end.
        admin.grant(&offers, id, Role::READ).await.unwrap();
        assert_eq!(names(&guest, "Documents/Offers").await, Vec::<String>::new());
        assert_eq!(grants(&farm, "Documents/Offers", id).await, [(Role::READ, None)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_grant_can_be_changed_and_stays_with_another_role() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "a").await.unwrap();
        let (id, guest) = farm.person("guest").await;
        let document = at("Documents/a.txt");
        let (day, week) = (Duration::from_secs(86_400), Duration::from_secs(7 * 86_400));
        let past = RoleGrant { until: Some(Timestamp::now().before(day)), ..until(id, Role::READ, day) };
        assert_eq!(admin.share_with(&document, past).await.unwrap_err().code(), "grant_end_passed");
        assert!(!admin.item(&document).await.unwrap().own_permissions, "nothing of a refused share stays");
        let first = until(id, Role::READ, day);
        admin.share_with(&document, first).await.unwrap();
        assert!(admin.item(&document).await.unwrap().own_permissions);
        let second = until(id, Role::READ, week);
        admin.share_with(&document, second).await.unwrap();
        assert_eq!(grants(&farm, "Documents/a.txt", id).await, [(Role::READ, second.until)]);
        admin.change_role(&document, id, Role::READ, Role::CONTRIBUTE).await.unwrap();
        assert_eq!(grants(&farm, "Documents/a.txt", id).await, [(Role::CONTRIBUTE, second.until)]);
        guest.item(&document).await.unwrap();
        admin.grant(&document, id, Role::CONTRIBUTE).await.unwrap();
        assert_eq!(grants(&farm, "Documents/a.txt", id).await, [(Role::CONTRIBUTE, None)]);
        let collection = admin.item(&document).await.unwrap().collection_id;
        let log = admin.audit_log(collection, AuditFilter::default(), None, 20).await.unwrap();
        let told: Vec<_> = log.items.iter().filter(|event| event.action == "permissions.grant").collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[3].detail.contains(" until ") && told[3].detail.contains(" UTC"), "{told:?}");
        assert!(!told[0].detail.contains(" until "), "{told:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_of_own_permissions_keeps_a_role_no_longer_than_before() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/Offers/a.txt", "a").await.unwrap();
        let (id, owner) = farm.person("owner").await;
        let given = until(id, Role::FULL_CONTROL, Duration::from_secs(86_400));
        admin.share_with(&at("Documents/Offers"), given).await.unwrap();
        owner.break_inheritance(&at("Documents/Offers/a.txt"), false).await.unwrap();
        assert_eq!(grants(&farm, "Documents/Offers/a.txt", id).await, [(given.role, given.until)]);
    })
    .await;
}
