//! Tests of how much containers hold, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{change, new_list, text};
use crate::support::{Farm, at, each_farm, put, with_rights};
use model::{Code, Error, ErrorKind, Id, Limits, Name, Principal, Right, Role, TokenScopes};
use repository::{Bin, RowChange, Session};

/// Documents, rows and bytes.
type Held = (u64, u64, u64);

/// Measures anew.
async fn measure(farm: &Farm, session: &Session) {
    session.request_measurement(&at("")).await.unwrap();
    assert_eq!(farm.repository.measure(false).await.unwrap(), 1);
}

/// Returns what an item held at the last measurement.
async fn held(session: &Session, path: &str) -> Option<Held> {
    let id = session.item(&at(path)).await.unwrap().id;
    let report = session.usage(&at(path)).await.unwrap();
    report.items.get(&id).map(|usage| (usage.documents, usage.rows, usage.bytes))
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_follow_uploads_versions_deletions_restorations_and_moves() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/one/deep/a.txt", "1234").await.unwrap();
        put(&admin, "Documents/two/b.txt", "12").await.unwrap();
        let root = admin.item(&at("")).await.unwrap().id;
        let before = admin.usage(&at("")).await.unwrap();
        assert_eq!((before.measured_at, before.is_pending, before.items.len()), (None, false, 0));

        measure(&farm, &admin).await;
        let after = admin.usage(&at("")).await.unwrap();
        assert!(after.measured_at.is_some() && !after.is_pending);
        assert_eq!(held(&admin, "").await, Some((2, 0, 6)));
        assert_eq!(held(&admin, "Documents/one").await, Some((1, 0, 4)));
        assert_eq!(held(&admin, "Documents/one/deep").await, Some((1, 0, 4)));

        // A new version counts in addition to the earlier one. Until the next measurement nothing changes.
        put(&admin, "Documents/one/deep/a.txt", "12345678").await.unwrap();
        assert_eq!(held(&admin, "Documents/one").await, Some((1, 0, 4)));
        measure(&farm, &admin).await;
        assert_eq!(held(&admin, "Documents/one").await, Some((1, 0, 12)));
        assert_eq!(held(&admin, "").await, Some((2, 0, 14)));

        let to = admin.item(&at("Documents/two")).await.unwrap().id;
        admin.move_to(&at("Documents/one/deep"), &to.into(), None).await.unwrap();
        measure(&farm, &admin).await;
        assert_eq!(held(&admin, "Documents/one").await, Some((0, 0, 0)));
        assert_eq!(held(&admin, "Documents/two").await, Some((2, 0, 14)));

        let entry = admin.delete(&at("Documents/two/deep")).await.unwrap();
        measure(&farm, &admin).await;
        assert_eq!(held(&admin, "Documents/two").await, Some((1, 0, 2)));
        assert_eq!(held(&admin, "").await, Some((1, 0, 2)));

        admin.restore(root, entry).await.unwrap();
        measure(&farm, &admin).await;
        assert_eq!(held(&admin, "").await, Some((2, 0, 14)));

        let entry = admin.delete(&at("Documents/two")).await.unwrap();
        admin.purge(root, entry, Bin::Mine).await.unwrap();
        measure(&farm, &admin).await;
        assert_eq!(held(&admin, "Documents").await, Some((0, 0, 0)));
        let report = admin.usage_below(&at("Documents"), vec![to]).await.unwrap();
        assert!(report.items.is_empty(), "{report:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_and_subsites_count_and_documents_are_read_at_once() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let rows = (0..700).map(|number| RowChange::Add { set: vec![(title, text(&format!("Row {number}")))] });
        change(&admin, &list, rows.collect()).await;
        let name = Name::new("Team").unwrap();
        admin.create_site(&at(""), &name).await.unwrap();
        put(&admin, "Documents/x.txt", "123").await.unwrap();
        // Attachments count with their list, in all their versions.
        put(&admin, "Tasks/1/a.txt", "1234").await.unwrap();
        put(&admin, "Tasks/1/a.txt", "12345").await.unwrap();
        measure(&farm, &admin).await;
        assert_eq!(held(&admin, "Tasks").await, Some((1, 700, 9)));
        assert_eq!(held(&admin, "").await, Some((2, 700, 12)));
        assert_eq!(held(&admin, "Team").await, Some((0, 0, 0)));

        let ids = ["Documents", "Tasks", "Team"].map(at);
        let mut below = Vec::new();
        for target in &ids {
            below.push(admin.item(target).await.unwrap().id);
        }
        assert_eq!(admin.usage_below(&at(""), below.clone()).await.unwrap().items.len(), 3);
        // They are not directly in that one.
        assert!(admin.usage_below(&at("Documents"), below).await.unwrap().items.is_empty());
        let document = put(&admin, "Documents/x.txt", "45").await.unwrap().id;
        let report = admin.usage_below(&at("Documents"), vec![document]).await.unwrap();
        assert_eq!(report.items[&document].bytes, 5);
        assert_eq!(admin.usage(&document.into()).await.unwrap_err().code(), Code::WrongKind);
        let many = (0..1_001).map(Id::new).collect();
        assert_eq!(admin.usage_below(&at(""), many).await.unwrap_err().code(), Code::TooMany);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_counts_nowhere() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/open/a.txt", "12").await.unwrap();
        put(&admin, "Documents/open/secret/b.txt", "1234567").await.unwrap();
        put(&admin, "Documents/open/read/c.txt", "12345").await.unwrap();
        let (id, _) = with_rights(&farm, "manager", "", &[Right::View, Right::ManageSite]).await;
        for path in ["Documents/open/secret", "Documents/open/read"] {
            admin.break_inheritance(&at(path), false).await.unwrap();
        }
        admin.grant(&at("Documents/open/read"), id, Role::READ).await.unwrap();
        let manager = farm.session(id).await;
        measure(&farm, &admin).await;
        for path in ["", "Documents", "Documents/open"] {
            assert_eq!(held(&admin, path).await, Some((3, 0, 14)), "{path}");
            assert_eq!(held(&manager, path).await, Some((1, 0, 2)), "{path}");
        }
        let kind = |error: Error| error.kind();
        let refused = manager.usage(&at("Documents/open/secret")).await;
        assert_eq!(refused.map(drop).map_err(kind), Err(ErrorKind::NotFound));
        // The right to read is not enough.
        let refused = manager.usage(&at("Documents/open/read")).await;
        assert_eq!(refused.map(drop).map_err(kind), Err(ErrorKind::Forbidden));
        let refused = manager.request_measurement(&at("Documents/open/read")).await;
        assert_eq!(refused.map_err(kind), Err(ErrorKind::Forbidden));
        let mut below = Vec::new();
        for path in ["Documents/open/secret", "Documents/open/read", "Documents/open/a.txt"] {
            below.push(admin.item(&at(path)).await.unwrap().id);
        }
        let report = manager.usage_below(&at("Documents/open"), below.clone()).await.unwrap();
        assert_eq!(report.items.keys().collect::<Vec<_>>(), [&below[2]]);

        // A token that reaches only a folder sees nothing of what is above it.
        let roots = vec![admin.item(&at("Documents/open")).await.unwrap().id];
        let limits = Limits { scopes: TokenScopes::ALL, roots };
        let token = farm.repository.as_caller(Principal { limits, ..admin.principal().clone() });
        assert_eq!(held(&token, "Documents/open").await, Some((3, 0, 14)));
        assert_eq!(token.usage(&at("Documents")).await.map(drop).map_err(kind), Err(ErrorKind::NotFound));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_permissions_hides_figures_until_they_are_measured_again() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/open/a.txt", "12").await.unwrap();
        put(&admin, "Documents/open/secret/b.txt", "1234567").await.unwrap();
        put(&admin, "Documents/other/c.txt", "1").await.unwrap();
        let (_, manager) = with_rights(&farm, "manager", "", &[Right::View, Right::ManageSite]).await;
        measure(&farm, &admin).await;
        assert_eq!(held(&manager, "Documents").await, Some((3, 0, 10)));

        // The difference to what is visible would be the size of what is hidden.
        admin.break_inheritance(&at("Documents/open/secret"), false).await.unwrap();
        for path in ["", "Documents", "Documents/open"] {
            assert_eq!(held(&manager, path).await, None, "{path}");
        }
        assert_eq!(held(&manager, "Documents/other").await, Some((1, 0, 1)));
        assert!(manager.usage(&at("")).await.unwrap().is_pending);
        assert_eq!(farm.repository.measure(false).await.unwrap(), 1);
        assert_eq!(held(&manager, "Documents").await, Some((2, 0, 3)));

        admin.restore_inheritance(&at("Documents/open/secret")).await.unwrap();
        assert_eq!(held(&manager, "Documents").await, None);
        assert_eq!(farm.repository.measure(false).await.unwrap(), 1);
        assert_eq!(held(&manager, "Documents").await, Some((3, 0, 10)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn site_collections_are_measured_on_request_and_where_something_changed() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        // Nobody asked.
        assert_eq!(farm.repository.measure(false).await.unwrap(), 0);
        // Those without a measurement get one, once.
        assert_eq!(farm.repository.measure(true).await.unwrap(), 1);
        assert_eq!(farm.repository.measure(true).await.unwrap(), 0);
        put(&admin, "Documents/a.txt", "12").await.unwrap();
        // The last one is not a day old.
        assert_eq!(farm.repository.measure(true).await.unwrap(), 0);
        for _ in 0..2 {
            admin.request_measurement(&at("Documents")).await.unwrap();
        }
        assert_eq!(farm.repository.measure(false).await.unwrap(), 1);
        assert_eq!(farm.repository.measure(false).await.unwrap(), 0);
        assert_eq!(held(&admin, "Documents").await, Some((1, 0, 2)));
    })
    .await;
}
