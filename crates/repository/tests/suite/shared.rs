//! Tests of what was shared with a user and by a user, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use crate::support::{at, each_farm, put};
use model::{Principal, Role};
use repository::{LinkRule, NewLink, Session};

async fn with(session: &Session) -> Vec<String> {
    let found = session.shared_with_me(100).await.unwrap();
    assert!(found.missing.is_empty());
    found.items.into_iter().map(|shared| shared.item.path).collect()
}

async fn by(session: &Session) -> Vec<(String, usize, usize)> {
    let found = session.shared_by_me(100).await.unwrap();
    found.items.into_iter().map(|shared| (shared.item.path, shared.with.len(), shared.links)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_shared_is_listed_on_both_sides_newest_first() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for name in ["one", "two", "three", "all"] {
            put(&admin, &format!("Documents/{name}/a.txt"), name).await.unwrap();
            admin.break_inheritance(&at(&format!("Documents/{name}")), false).await.unwrap();
        }
        let (id, guest) = farm.person("guest").await;
        let group = admin.create_group("Readers", "").await.unwrap().id;
        admin.add_member(group, id).await.unwrap();
        admin.grant(&at("Documents/one"), id, Role::READ).await.unwrap();
        admin.grant(&at("Documents/two"), group, Role::READ).await.unwrap();
        admin.grant(&at("Documents/all"), Principal::EVERYONE, Role::READ).await.unwrap();
        let guest = farm.session(guest.principal().id).await;
        assert_eq!(with(&guest).await, ["Documents/two", "Documents/one"]);
        // What the caller shared with everyone is among what the caller shared.
        let shared = by(&admin).await;
        assert_eq!(shared.len(), 3, "{shared:?}");
        assert_eq!(shared[0], ("Documents/all".to_owned(), 1, 0));
        // Permissions of its own that only copy those above are no sharing.
        admin.break_inheritance(&at("Documents/one/a.txt"), true).await.unwrap();
        assert_eq!(with(&guest).await, ["Documents/two", "Documents/one"]);
        // Nor is what lies in a recycle bin, or was taken away.
        admin.delete(&at("Documents/two")).await.unwrap();
        admin.revoke(&at("Documents/one"), id, Role::READ).await.unwrap();
        assert_eq!(with(&guest).await, ["Documents/one/a.txt"], "the copy is what is left");
        assert_eq!(by(&guest).await, []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_listed_with_what_was_shared_until_they_end() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "a").await.unwrap();
        let collection = admin.item(&at("")).await.unwrap().id;
        admin.set_link_rule(collection, Some(LinkRule { most_days: 7 })).await.unwrap();
        let new = NewLink { days: 1, ..NewLink::default() };
        let (link, _) = admin.share(&at("Documents/a.txt"), new.clone()).await.unwrap();
        admin.share(&at("Documents/a.txt"), new).await.unwrap();
        assert_eq!(by(&admin).await, [("Documents/a.txt".to_owned(), 0, 2)]);
        admin.revoke_link(&at("Documents/a.txt"), link.id).await.unwrap();
        assert_eq!(by(&admin).await, [("Documents/a.txt".to_owned(), 0, 1)]);
    })
    .await;
}
