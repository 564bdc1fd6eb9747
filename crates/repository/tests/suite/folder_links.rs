//! Tests of links to folders, and of those that take files; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use crate::sharing::{client, link, proof};
use crate::support::{Farm, at, each_farm, get, names, put};
use model::{Authentication, Id, LibrarySettings, Name, Principal, Result, Role, Timestamp, Versioning};
use repository::{AuditFilter, LinkContent, LinkProof, LinkRule, NewLink, Session, UploadOptions};

const RULE: Option<LinkRule> = Some(LinkRule { most_days: 7 });

/// Allows links, and returns the administrator and the site collection.
async fn allow_links(farm: &Farm) -> (Session, Id) {
    let admin = signed_in(farm, &farm.administrator().await);
    let collection = admin.item(&at("")).await.unwrap().id;
    admin.set_link_rule(collection, RULE).await.unwrap();
    (admin, collection)
}

/// Returns the session of a user who signed in with the password just now.
fn signed_in(farm: &Farm, session: &Session) -> Session {
    let proof = Authentication::Session { id: Id::NONE, proved_at: Timestamp::now() };
    farm.repository.as_caller(Principal { proof, ..session.principal().clone() })
}

/// Sends a file of one byte for each of `parts`.
async fn send(farm: &Farm, by: &LinkProof, name: &str, parts: usize) -> Result<()> {
    let options = UploadOptions { comment: "from Jane".into(), ..UploadOptions::default() };
    let taking = farm.repository.upload_link(by).await?;
    let mut upload = taking.begin(Name::new(name).unwrap(), options, &client()).await?;
    for _ in 0..parts {
        upload.write("x".into()).await?;
    }
    upload.finish().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_a_folder_gives_what_is_published_below_it_and_nothing_else() {
    each_farm(|farm| async move {
        let (admin, _) = allow_links(&farm).await;
        for path in ["Documents/Given/a.txt", "Documents/Given/deep/b.txt", "Documents/Kept/c.txt"] {
            put(&admin, path, path).await.unwrap();
        }
        let settings = admin.library_settings(&at("Documents")).await.unwrap();
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..settings };
        admin.change_library(&at("Documents"), drafts).await.unwrap();
        put(&admin, "Documents/Given/draft.txt", "draft").await.unwrap();
        put(&admin, "Documents/Given/a.txt", "a newer draft").await.unwrap();
        let new = NewLink { password: Some("open sesame".into()), message: " Please\r\nread ".into(), ..link(7) };
        let (made, secret) = admin.share(&at("Documents/Given"), new).await.unwrap();
        let opened = farm.repository.open_link(made.id, &secret).await.unwrap();
        assert_eq!((opened.name.as_str(), opened.message.as_str()), ("Given", "Please\nread"));
        assert_eq!(opened.content, LinkContent::Folder);
        let wrong = farm.repository.link_folder(&proof(&made, &secret, "guess"), None).await.unwrap_err();
        assert_eq!(wrong.code(), "wrong_link_password");
        let right = proof(&made, &secret, "open sesame");
        let found = farm.repository.link_folder(&right, None).await.unwrap();
        let names: Vec<_> = found.entries.iter().map(|entry| (entry.name.as_str(), entry.size)).collect();
        assert_eq!(names, [("deep", None), ("a.txt", Some(21))]);
        let deep = farm.repository.link_folder(&right, Some(found.entries[0].id)).await.unwrap();
        assert_eq!(deep.way.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["Given", "deep"]);
        let mut content = farm.repository.download_link(&right, Some(deep.entries[0].id)).await.unwrap();
        assert_eq!(content.next_chunk().await.unwrap().unwrap(), "Documents/Given/deep/b.txt");
        for path in ["", "Documents", "Documents/Kept", "Documents/Kept/c.txt", "Documents/Given/draft.txt"] {
            let id = admin.item(&at(path)).await.unwrap().id;
            let listed = farm.repository.link_folder(&right, Some(id)).await.map(drop);
            assert_eq!(listed.unwrap_err().code(), "link_ended", "{path}");
            let opened = farm.repository.download_link(&right, Some(id)).await.map(drop);
            assert_eq!(opened.unwrap_err().code(), "link_ended", "{path}");
        }
        assert_eq!(farm.repository.upload_link(&right).await.map(drop).unwrap_err().code(), "link_ended");
        assert_eq!(admin.links(&at("Documents/Given")).await.unwrap()[0].downloads, 1);
        admin.delete(&at("Documents/Given")).await.unwrap();
        assert_eq!(farm.repository.link_folder(&right, None).await.unwrap_err().code(), "link_ended");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_a_folder_gives_only_what_its_creator_may_edit() {
    each_farm(|farm| async move {
        let (admin, _) = allow_links(&farm).await;
        for path in ["Documents/Team/open.txt", "Documents/Team/Closed/deep/secret.txt", "Documents/Team/read.txt"] {
            put(&admin, path, path).await.unwrap();
        }
        let (id, editor) = farm.person("editor").await;
        let editor = signed_in(&farm, &editor);
        admin.break_inheritance(&at("Documents/Team"), true).await.unwrap();
        admin.grant(&at("Documents/Team"), id, Role::CONTRIBUTE).await.unwrap();
        for readable in ["Documents/Team/Closed", "Documents/Team/read.txt"] {
            admin.break_inheritance(&at(readable), false).await.unwrap();
            admin.grant(&at(readable), id, Role::READ).await.unwrap();
            assert!(editor.share(&at(readable), link(7)).await.is_err());
        }
        let (made, secret) = editor.share(&at("Documents/Team"), link(7)).await.unwrap();
        let held = proof(&made, &secret, "");
        let found = farm.repository.link_folder(&held, None).await.unwrap();
        assert_eq!(found.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["open.txt"]);
        for hidden in ["Closed", "Closed/deep", "Closed/deep/secret.txt", "read.txt"] {
            let id = admin.item(&at(&format!("Documents/Team/{hidden}"))).await.unwrap().id;
            let listed = farm.repository.link_folder(&held, Some(id)).await.map(drop);
            assert_eq!(listed.unwrap_err().code(), "link_ended", "{hidden}");
            let opened = farm.repository.download_link(&held, Some(id)).await.map(drop);
            assert_eq!(opened.unwrap_err().code(), "link_ended", "{hidden}");
        }
        // Its creator may only read the folder now.
        admin.grant(&at("Documents/Team"), id, Role::READ).await.unwrap();
        admin.revoke(&at("Documents/Team"), id, Role::CONTRIBUTE).await.unwrap();
        assert_eq!(farm.repository.link_folder(&held, None).await.unwrap_err().code(), "link_ended");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_makes_links_to_documents_only() {
    each_farm(|farm| async move {
        let (admin, _) = allow_links(&farm).await;
        put(&admin, "Documents/Team/a.txt", "a").await.unwrap();
        let token = Principal { proof: Authentication::Token, ..admin.principal().clone() };
        let token = farm.repository.as_caller(token);
        token.share(&at("Documents/Team/a.txt"), link(7)).await.unwrap();
        let takes = NewLink { takes_uploads: true, most_downloads: Some(1), ..link(7) };
        for (place, new) in [("Documents/Team", link(7)), ("Documents", link(7)), ("Documents/Team", takes)] {
            assert_eq!(token.share(&at(place), new).await.unwrap_err().code(), "token_scope", "{place}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_takes_as_many_files_as_it_may() {
    each_farm(|farm| async move {
        let (admin, collection) = allow_links(&farm).await;
        put(&admin, "Documents/Inbox/present.txt", "mine").await.unwrap();
        let (id, editor) = farm.person("editor").await;
        let editor = signed_in(&farm, &editor);
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        let inbox = at("Documents/Inbox");
        let wanted = NewLink { takes_uploads: true, most_downloads: Some(2), ..link(7) };
        let unlimited = NewLink { most_downloads: None, ..wanted.clone() };
        assert_eq!(editor.share(&inbox, unlimited).await.unwrap_err().code(), "invalid_file_limit");
        let present = at("Documents/Inbox/present.txt");
        assert_eq!(editor.share(&present, wanted.clone()).await.unwrap_err().code(), "wrong_kind");
        let (made, secret) = editor.share(&inbox, wanted).await.unwrap();
        let held = proof(&made, &secret, "");
        assert_eq!(farm.repository.link_folder(&held, None).await.unwrap_err().code(), "link_ended");
        assert_eq!(farm.repository.download_link(&held, None).await.map(drop).unwrap_err().code(), "link_ended");
        send(&farm, &held, "present.txt", 6).await.unwrap();
        assert_eq!(get(&admin, "Documents/Inbox/present.txt").await.unwrap(), "mine");
        // What was begun and given up neither counts nor stands in the audit log.
        let taking = farm.repository.upload_link(&held).await.unwrap();
        for _ in 0..3 {
            let client = client();
            let begun = taking.begin(Name::new("lost.txt").unwrap(), UploadOptions::default(), &client).await;
            begun.unwrap().write("x".into()).await.unwrap();
        }
        // While one is under way, there is no room for a second.
        let begin =
            async |name: &str| taking.begin(Name::new(name).unwrap(), UploadOptions::default(), &client()).await;
        let last = begin("last.txt").await.unwrap();
        assert_eq!(begin("further.txt").await.map(drop).unwrap_err().code(), "link_takes_no_files");
        last.finish().await.unwrap();
        // One that another server takes at the same time is decided where it is counted.
        let further = begin("further.txt").await.unwrap();
        assert_eq!(further.finish().await.unwrap_err().code(), "link_ended");
        assert_eq!(send(&farm, &held, "further.txt", 1).await.unwrap_err().code(), "link_ended");
        assert_eq!(names(&admin, "Documents/Inbox").await, ["last.txt", "present (2).txt", "present.txt"]);
        let log = admin.audit_log(collection, AuditFilter::default(), None, 20).await.unwrap();
        let sent: Vec<_> = log.items.iter().filter(|event| event.action == "link.upload").collect();
        assert!(sent.iter().all(|event| event.actor.is_none() && event.detail.contains("192.0.2.7")), "{sent:?}");
        let said = |event: &str, path: &str| event.contains(&format!("{path}, link {}", made.id));
        assert_eq!(sent.len(), 2, "{sent:?}");
        assert!(said(&sent[0].detail, "Documents/Inbox/last.txt"), "{sent:?}");
        assert!(said(&sent[1].detail, "Documents/Inbox/present (2).txt"), "{sent:?}");
        // Its creator may not add files any more.
        let again = NewLink { takes_uploads: true, most_downloads: Some(9), ..link(7) };
        let (further, secret) = editor.share(&inbox, again).await.unwrap();
        admin.revoke(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        admin.grant(&at(""), id, Role::READ).await.unwrap();
        let late = send(&farm, &proof(&further, &secret, ""), "late.txt", 1).await;
        assert_eq!(late.unwrap_err().code(), "link_ended");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_of_files_learns_nothing_of_the_folder_and_stays_within_the_quota() {
    each_farm(|farm| async move {
        let (admin, collection) = allow_links(&farm).await;
        put(&admin, "Documents/Inbox/present.txt", "mine").await.unwrap();
        let wanted = NewLink { takes_uploads: true, most_downloads: Some(9), ..link(7) };
        let (made, secret) = admin.share(&at("Documents/Inbox"), wanted).await.unwrap();
        let held = proof(&made, &secret, "");
        let lock = repository::NewLock { exclusive: true, deep: true, owner: String::new(), seconds: 600 };
        let lock = admin.lock(&at("Documents/Inbox"), lock).await.unwrap();
        let refused = send(&farm, &held, "a.txt", 1).await.unwrap_err();
        assert_eq!(refused.code(), "link_takes_no_files");
        assert!(!refused.message().contains("Inbox") && !refused.message().contains("dministrator"), "{refused:?}");
        admin.unlock(&at("Documents/Inbox"), lock.token().unwrap()).await.unwrap();
        // Refused while the bytes arrive, before they fill the disk.
        admin.set_quota(collection, Some(10)).await.unwrap();
        let taking = farm.repository.upload_link(&held).await.unwrap();
        let begun = taking.begin(Name::new("a.txt").unwrap(), UploadOptions::default(), &client()).await;
        let over = begun.unwrap().write(vec![0; 11].into()).await.unwrap_err();
        assert_eq!(over.code(), "link_takes_no_files");
        assert!(over.report().contains("quota"), "{over:?}");
        send(&farm, &held, "a.txt", 6).await.unwrap();
    })
    .await;
}
