//! Searches while the index lags behind the database: it stays as it was committed once, and documents that were moved,
//! renamed, replaced, deleted or given permissions of their own since are judged as they are now.

#![expect(clippy::unwrap_used, reason = "a farm that cannot be had fails the test")]

use crate::support::index::freeze;
use crate::support::{at, each_farm, put, with_rights};
use model::{LibrarySettings, Limits, Name, Principal, Right, Role, TokenScope, TokenScopes, Versioning};
use repository::{FindRequest, Found, Session, TextSearch};

async fn find(session: &Session, text: &str) -> Found {
    let text = text.to_owned();
    session.search(&FindRequest { text, limit: 50, counts_facets: true, ..FindRequest::default() }).await.unwrap()
}

/// The paths of what is found, and the number of documents.
async fn found(session: &Session, text: &str) -> (Vec<String>, u64) {
    let found = find(session, text).await;
    assert_eq!(found.texts, TextSearch::Complete);
    let mut paths: Vec<String> = found.items.into_iter().map(|found| found.item.path).collect();
    paths.sort();
    (paths, found.documents)
}

fn some(paths: &[&str]) -> (Vec<String>, u64) {
    (paths.iter().map(|path| (*path).to_owned()).collect(), paths.len() as u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_documents_are_judged_as_they_are_now() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/a/one.txt", "Documents/a/two.txt", "Documents/b/three.txt", "Documents/b/four.txt"];
        for path in all {
            put(&admin, path, "x").await.unwrap();
        }
        let place = freeze(&farm, &all).await;
        let mut sorted = all;
        sorted.sort_unstable();
        assert_eq!(found(&admin, "documents -nothing").await, some(&sorted));
        admin.move_to(&at("Documents/a/one.txt"), &at("Documents/b"), None).await.unwrap();
        assert_eq!(found(&admin, "in:Documents/b *").await.1, 3);
        assert_eq!(found(&admin, "in:Documents/a *").await, some(&["Documents/a/two.txt"]));
        // With another name, it is found by that name, once the index has followed.
        let name = Name::new("deux.txt").unwrap();
        admin.move_to(&at("Documents/a/two.txt"), &at("Documents/b"), Some(&name)).await.unwrap();
        assert_eq!(found(&admin, "two AND documents").await, some(&[]));
        admin.rename(&at("Documents/b/three.txt"), &Name::new("drei.txt").unwrap()).await.unwrap();
        assert_eq!(found(&admin, "three AND documents").await, some(&[]));
        put(&admin, "Documents/b/four.txt", "replaced").await.unwrap();
        assert_eq!(found(&admin, "four AND documents").await, some(&[]));
        admin.delete(&at("Documents/b/one.txt")).await.unwrap();
        assert_eq!(found(&admin, "documents -nothing").await, some(&[]));
        drop(place);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_hidden_since_is_neither_found_nor_counted() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/open/one.txt", "Documents/open/two.txt", "Documents/secret/three.txt"];
        for path in all {
            put(&admin, path, "x").await.unwrap();
        }
        admin.break_inheritance(&at("Documents/open"), false).await.unwrap();
        admin.break_inheritance(&at("Documents/secret"), false).await.unwrap();
        let (_, reader) = with_rights(&farm, "rita", "Documents/open", &[Right::View]).await;
        let place = freeze(&farm, &all).await;
        assert_eq!(found(&reader, "type:txt").await, some(&["Documents/open/one.txt", "Documents/open/two.txt"]));
        admin.move_to(&at("Documents/open/one.txt"), &at("Documents/secret"), None).await.unwrap();
        assert_eq!(found(&reader, "type:txt").await, some(&["Documents/open/two.txt"]));
        assert_eq!(find(&reader, "type:txt").await.facets.extensions, [("txt".to_owned(), 1)]);
        admin.break_inheritance(&at("Documents/open/two.txt"), false).await.unwrap();
        assert_eq!(found(&reader, "type:txt").await, some(&[]));
        admin.move_to(&at("Documents/secret/three.txt"), &at("Documents/open"), None).await.unwrap();
        assert_eq!(found(&reader, "type:txt").await, some(&["Documents/open/three.txt"]));
        // Drafts are not for readers.
        let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.change_library(&at("Documents"), settings).await.unwrap();
        put(&admin, "Documents/open/three.txt", "a draft").await.unwrap();
        assert_eq!(found(&reader, "type:txt").await.1, 0);
        drop(place);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_found_in_the_index_as_in_the_rows() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let names =
            ["Große Übersicht.pdf", "offer.txt", "Offer A.txt", "a.b", "東京の地図.md", "x", "two  words", "100%_a"];
        let mut paths: Vec<String> = names.iter().map(|name| format!("Documents/{name}")).collect();
        paths.push("Documents/offers/deep offer.txt".to_owned());
        for path in &paths {
            put(&admin, path, "y").await.unwrap();
        }
        let mut queries: Vec<String> =
            ["offer", "OFFER a", "grosse", "%_", "er.t", "京の", "words two", "zzz", "o"].map(str::to_owned).to_vec();
        for name in names {
            let chars: Vec<char> = name.chars().collect();
            let parts = (0..chars.len()).flat_map(|at| (at + 1..=chars.len()).map(move |end| (at, end)));
            queries.extend(parts.map(|(at, end)| chars[at..end].iter().collect::<String>()));
        }
        let search = async |text: &str| {
            let found = admin.find_by_name(text, 50).await.unwrap();
            assert!(found.whole && !found.more, "{text}");
            let mut paths: Vec<String> = found.items.into_iter().map(|item| item.path).collect();
            paths.sort();
            paths
        };
        let mut by_rows = Vec::new();
        for query in &queries {
            by_rows.push(search(query).await);
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let _index = freeze(&farm, &paths).await;
        for (query, expected) in queries.iter().zip(by_rows) {
            assert_eq!(search(query).await, expected, "{query:?}");
        }
        // A document that the index does not know shows that the index answers.
        let known: Vec<&str> = paths.iter().copied().filter(|path| *path != "Documents/offer.txt").collect();
        let _without_one = freeze(&farm, &known).await;
        assert_eq!(search("offer.t").await, ["Documents/offers/deep offer.txt"]);
        let _index = freeze(&farm, &paths).await;
        let first = admin.find_by_name("offer", 2).await.unwrap();
        let names: Vec<String> = first.items.into_iter().map(|item| item.name).collect();
        assert_eq!((names, first.more), (vec!["offers".to_owned(), "offer.txt".to_owned()], true));
        // What changed since is compared with its row.
        put(&admin, "Documents/an offering.txt", "y").await.unwrap();
        let renamed = admin.item(&at("Documents/offer.txt")).await.unwrap();
        admin.rename(&renamed.id.into(), &Name::new("bid.txt").unwrap()).await.unwrap();
        assert_eq!(search("offering").await, ["Documents/an offering.txt"]);
        assert_eq!(search("bid.t").await, ["Documents/bid.txt"]);
        assert_eq!(search("offer.t").await, ["Documents/offers/deep offer.txt"]);
        // A copied folder has one event, and its documents are found at once.
        let (folder, target) = (at("Documents/offers"), at("Documents"));
        admin.copy_to(&folder, &target, Some(&Name::new("copied").unwrap())).await.unwrap();
        assert_eq!(search("deep").await, ["Documents/copied/deep offer.txt", "Documents/offers/deep offer.txt"]);
    })
    .await;
}

/// Checks that changes of groups and credentials act on the next search, although visible scopes are kept.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_of_a_caller_does_not_outlive_the_rights() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "x").await.unwrap();
        let (id, _) = farm.person("member").await;
        let group = admin.create_group("Sales", "").await.unwrap();
        admin.grant(&at(""), group.id, Role::READ).await.unwrap();
        let place = freeze(&farm, &["Documents/a.txt"]).await;
        let all = some(&["Documents/a.txt"]);
        assert_eq!(found(&farm.session(id).await, "type:txt").await, some(&[]));
        admin.add_member(group.id, id).await.unwrap();
        assert_eq!(found(&farm.session(id).await, "type:txt").await, all, "a group acts at once");
        let limited = async |id, scope: TokenScope| {
            let session = farm.session(id).await;
            let scopes = TokenScopes::from_bits(1 << TokenScope::ALL.iter().position(|other| *other == scope).unwrap());
            assert!(scopes.has(scope));
            let limits = Limits { scopes, roots: Vec::new() };
            farm.repository.as_caller(Principal { limits, ..session.principal().clone() })
        };
        for (scope, expected) in [(TokenScope::Read, all.clone()), (TokenScope::Farm, some(&[]))] {
            for id in [id, admin.principal().id] {
                assert_eq!(found(&limited(id, scope).await, "type:txt").await, expected, "{scope:?}");
            }
        }
        assert_eq!(found(&farm.session(id).await, "type:txt").await, all, "tokens change nothing for the person");
        admin.remove_member(group.id, id).await.unwrap();
        assert_eq!(found(&farm.session(id).await, "type:txt").await, some(&[]), "so does leaving it");
        drop(place);
    })
    .await;
}
