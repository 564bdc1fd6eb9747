//! Tests of share links, following and events; on both engines.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::support::{at, each_farm, get, put, to};
use bytes::Bytes;
use model::{Authentication, ErrorKind, Id, LibrarySettings, Name, Principal, Role, SitePath, Timestamp, Versioning};
use repository::{
    CheckIn, Client, LinkContent, LinkProof, LinkRule, MAX_DAYS_WITHOUT_FRESH_SIGN_IN, NewLink, ShareLink,
    UploadOptions, VersionChoice,
};

pub fn client() -> Client {
    Client { address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), agent: String::new(), device: None }
}

pub fn proof(link: &ShareLink, secret: &str, password: &str) -> LinkProof {
    LinkProof { link: link.id, secret: secret.to_owned(), password: password.to_owned(), client: client() }
}

pub fn link(days: u32) -> NewLink {
    NewLink { days, ..NewLink::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_gives_the_published_version_as_long_as_it_may() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, editor) = farm.person("editor").await;
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        put(&admin, "Documents/a.txt", "one").await.unwrap();
        let document = at("Documents/a.txt");
        let collection = admin.item(&at("")).await.unwrap().id;
        let refused = editor.share(&document, link(1)).await.unwrap_err();
        assert_eq!(refused.code(), "links_not_allowed");
        assert_eq!(editor.set_link_rule(collection, None).await.unwrap_err().kind(), ErrorKind::Forbidden);
        admin.set_link_rule(collection, Some(LinkRule { most_days: 7 })).await.unwrap();
        assert_eq!(editor.share(&document, link(8)).await.unwrap_err().code(), "invalid_days");
        let (made, secret) = editor.share(&document, link(7)).await.unwrap();
        let opened = farm.repository.open_link(made.id, &secret).await.unwrap();
        assert_eq!((opened.name.as_str(), opened.has_password), ("a.txt", false));
        assert!(matches!(opened.content, LinkContent::Document { size: 3, .. }));
        let mut content = farm.repository.download_link(&proof(&made, &secret, ""), None).await.unwrap();
        assert_eq!(content.next_chunk().await.unwrap().unwrap(), "one");
        let other = format!("srl_{}", "0".repeat(64));
        for (id, secret) in [(made.id, other.as_str()), (collection, &secret), (made.id, "srl_")] {
            assert_eq!(farm.repository.open_link(id, secret).await.unwrap_err().code(), "link_ended");
        }
        // The link ends with the rule, with its creator's rights, and when it is revoked.
        admin.set_link_rule(collection, None).await.unwrap();
        assert_eq!(farm.repository.open_link(made.id, &secret).await.unwrap_err().code(), "link_ended");
        admin.set_link_rule(collection, Some(LinkRule { most_days: 7 })).await.unwrap();
        farm.repository.open_link(made.id, &secret).await.unwrap();
        admin.revoke(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        assert_eq!(farm.repository.open_link(made.id, &secret).await.unwrap_err().code(), "link_ended");
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        assert_eq!(editor.links(&document).await.unwrap()[0].downloads, 1);
        editor.revoke_link(&document, made.id).await.unwrap();
        assert_eq!(farm.repository.open_link(made.id, &secret).await.unwrap_err().code(), "link_ended");
        assert_eq!(editor.revoke_link(&document, made.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_asks_for_its_password_and_counts_downloads() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "one").await.unwrap();
        let collection = admin.item(&at("")).await.unwrap().id;
        admin.set_link_rule(collection, Some(LinkRule { most_days: 7 })).await.unwrap();
        let new =
            NewLink { days: 1, password: Some("open sesame".into()), most_downloads: Some(1), ..NewLink::default() };
        let (made, secret) = admin.share(&at("Documents/a.txt"), new).await.unwrap();
        let download =
            async |password: &str| farm.repository.download_link(&proof(&made, &secret, password), None).await;
        for wrong in ["", "open", "Open sesame"] {
            assert_eq!(download(wrong).await.err().unwrap().code(), "wrong_link_password");
        }
        assert!(download("open sesame").await.is_ok());
        assert_eq!(download("open sesame").await.err().unwrap().code(), "link_ended");
        let new = NewLink { days: 1, password: Some("open sesame".into()), ..NewLink::default() };
        let (made, secret) = admin.share(&at("Documents/a.txt"), new).await.unwrap();
        for _ in 0..10 {
            let _ = farm.repository.download_link(&proof(&made, &secret, "guess"), None).await;
        }
        let throttled = farm.repository.download_link(&proof(&made, &secret, "open sesame"), None).await.err().unwrap();
        assert_eq!(throttled.code(), "too_many_attempts");
        let opened = admin.open(&at("Documents/a.txt"), VersionChoice::Visible).await.unwrap();
        assert_eq!(opened.size(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_lives_long_and_a_site_for_others_need_a_fresh_proof() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "one").await.unwrap();
        let collection = admin.item(&at("")).await.unwrap().id;
        admin.set_link_rule(collection, Some(LinkRule { most_days: 365 })).await.unwrap();
        let (other, _) = farm.person("other").await;
        let long_ago = Timestamp::now().before(Duration::from_secs(11 * 60));
        for proof in [Authentication::Token, Authentication::Session { id: Id::NONE, proved_at: long_ago }] {
            let session = farm.repository.as_caller(Principal { proof, ..admin.principal().clone() });
            let share = async |days: u32| {
                session.share(&at("Documents/a.txt"), link(days)).await.map(drop).map_err(|error| error.code().as_str())
            };
            assert_eq!(share(MAX_DAYS_WITHOUT_FRESH_SIGN_IN).await, Ok(()));
            assert_eq!(share(MAX_DAYS_WITHOUT_FRESH_SIGN_IN + 1).await, Err("fresh_sign_in_needed"));
            let own = SitePath::parse(&format!("own-{}", matches!(proof, Authentication::Token))).unwrap();
            session.create_site_collection(&own, "Own", None, None).await.unwrap();
            let theirs = SitePath::parse("theirs").unwrap();
            let refused = session.create_site_collection(&theirs, "Theirs", None, Some(other)).await.unwrap_err();
            assert_eq!(refused.code(), "fresh_sign_in_needed");
        }
        admin.share(&at("Documents/a.txt"), link(MAX_DAYS_WITHOUT_FRESH_SIGN_IN + 1)).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followed_documents_and_happenings_show_what_may_be_opened() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, reader) = farm.person("reader").await;
        admin.grant(&at(""), id, Role::READ).await.unwrap();
        for name in ["a.txt", "b.txt", "secret/c.txt"] {
            put(&admin, &format!("Documents/{name}"), name).await.unwrap();
        }
        admin.break_inheritance(&at("Documents/secret"), true).await.unwrap();
        admin.revoke(&at("Documents/secret"), id, Role::READ).await.unwrap();
        reader.set_followed(&at("Documents/a.txt"), true).await.unwrap();
        reader.set_followed(&at("Documents/b.txt"), true).await.unwrap();
        reader.set_followed(&at("Documents/b.txt"), false).await.unwrap();
        assert!(reader.follows(&at("Documents/a.txt")).await.unwrap());
        assert!(!admin.follows(&at("Documents/a.txt")).await.unwrap());
        let followed = reader.home(10).await.unwrap().followed;
        assert_eq!(followed.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["a.txt"]);
        let hidden = reader.set_followed(&at("Documents/secret/c.txt"), true).await.unwrap_err();
        assert_eq!(hidden.kind(), ErrorKind::NotFound);
        let told = reader.recent_events(10).await.unwrap();
        let told: Vec<_> = told.iter().map(|told| (told.item.name.as_str(), told.action.as_str())).collect();
        assert_eq!(told, [("b.txt", "document.create"), ("a.txt", "document.create")]);
        // Deleted documents are no longer reported.
        admin.delete(&at("Documents/a.txt")).await.unwrap();
        assert!(reader.home(10).await.unwrap().followed.is_empty());
        assert_eq!(reader.recent_events(10).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_told_of_what_was_published_and_of_no_drafts() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, _) = farm.person("reader").await;
        admin.grant(&at(""), id, Role::READ).await.unwrap();
        let reader = farm.session(id).await;
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.create_library(&at(""), &Name::new("Drafts").unwrap(), drafts).await.unwrap();
        let told = async |name: &str| {
            let told = reader.recent_events(50).await.unwrap();
            let of = told.into_iter().filter(|told| told.item.name == name).map(|told| told.action);
            of.collect::<Vec<_>>()
        };
        let seen = async |path: &str| {
            let events = reader.activity(&at(path), None, 50).await.unwrap().items;
            events.into_iter().map(|event| event.action).collect::<Vec<_>>()
        };
        // A library without drafts: every replacement is visible to all, but a working copy only after check-in.
        put(&admin, "Documents/a.txt", "one").await.unwrap();
        put(&admin, "Documents/a.txt", "two").await.unwrap();
        assert_eq!(told("a.txt").await, ["document.replace", "document.create"]);
        assert_eq!(seen("Documents/a.txt").await, ["document.replace", "document.create"]);
        put(&admin, "Documents/b.txt", "one").await.unwrap();
        admin.check_out(&at("Documents/b.txt")).await.unwrap();
        put(&admin, "Documents/b.txt", "two").await.unwrap();
        assert_eq!(told("b.txt").await, ["document.check-out", "document.create"]);
        assert_eq!(seen("Documents/b.txt").await, ["document.check-out", "document.create"]);
        admin.check_in(&at("Documents/b.txt"), CheckIn::default()).await.unwrap();
        assert_eq!(told("b.txt").await, ["document.check-in", "document.check-out", "document.create"]);
        // A library with drafts: only published versions are reported.
        put(&admin, "Drafts/c.txt", "draft").await.unwrap();
        assert!(told("c.txt").await.is_empty());
        admin.publish(&at("Drafts/c.txt"), "first").await.unwrap();
        put(&admin, "Drafts/c.txt", "next draft").await.unwrap();
        assert_eq!(told("c.txt").await, ["version.publish", "document.create"]);
        admin.check_out(&at("Drafts/c.txt")).await.unwrap();
        put(&admin, "Drafts/c.txt", "third").await.unwrap();
        admin.check_in(&at("Drafts/c.txt"), CheckIn::default()).await.unwrap();
        assert_eq!(told("c.txt").await, ["version.publish", "document.create"]);
        admin.check_out(&at("Drafts/c.txt")).await.unwrap();
        put(&admin, "Drafts/c.txt", "fourth").await.unwrap();
        let publish = CheckIn { publish: true, ..CheckIn::default() };
        admin.check_in(&at("Drafts/c.txt"), publish).await.unwrap();
        assert_eq!(told("c.txt").await, ["document.check-in", "version.publish", "document.create"]);
        assert_eq!(seen("Drafts/c.txt").await, ["document.check-in", "version.publish", "document.create"]);
        let at_once = UploadOptions { publish: true, ..UploadOptions::default() };
        admin.upload_bytes(&to("Drafts/c.txt"), at_once, Bytes::from_static(b"fifth")).await.unwrap();
        assert_eq!(told("c.txt").await, ["version.publish", "document.check-in", "document.create"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_store_is_that_gives_no_answer_is_told_to_administrators_only() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, _) = farm.person("editor").await;
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        let editor = farm.session(id).await;
        let large = "long ".repeat(600_000);
        put(&admin, "Documents/large.txt", &large).await.unwrap();
        let collection = admin.item(&at("")).await.unwrap().id;
        admin.set_link_rule(collection, Some(LinkRule { most_days: 7 })).await.unwrap();
        let (made, secret) = admin.share(&at("Documents/large.txt"), link(1)).await.unwrap();
        let store = farm.directory.path().join("blobs");
        std::fs::rename(&store, farm.directory.path().join("away")).unwrap();
        let told = get(&admin, "Documents/large.txt").await.unwrap_err();
        assert!(told.message().contains(store.to_str().unwrap()), "{told:?}");
        let by_link = async {
            let mut opened = farm.repository.download_link(&proof(&made, &secret, ""), None).await?;
            opened.next_chunk().await
        };
        for error in [
            by_link.await.unwrap_err(),
            get(&editor, "Documents/large.txt").await.unwrap_err(),
            put(&editor, "Documents/new.txt", &large).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
            assert!(!error.message().contains(farm.directory.path().to_str().unwrap()), "{error:?}");
            assert!(error.report().contains(store.to_str().unwrap()), "the log has it: {error:?}");
        }
    })
    .await;
}
