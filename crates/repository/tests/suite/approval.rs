//! Tests of approval: what is published is what was looked at, and who decides; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::{Farm, at, each_farm, put, read, to, with_rights};
use model::{Code, Id, LibrarySettings, Name, Right, VersionNumber, Versioning};
use repository::{CheckIn, Session, Target, UploadOptions, VersionChoice};

const FIRST: VersionNumber = VersionNumber::new(0, 1);
const SECOND: VersionNumber = VersionNumber::new(0, 2);

/// The latest version of a document.
async fn latest(session: &Session, target: &Target) -> Id {
    session.item(target).await.unwrap().version_id.unwrap()
}

/// A draft in a library with drafts, an author, and somebody who approves.
async fn draft(farm: &Farm) -> (Id, Session, Session) {
    let admin = farm.administrator().await;
    let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
    admin.create_library(&at(""), &Name::new("Pages").unwrap(), settings).await.unwrap();
    let (_, author) = with_rights(farm, "author", "", &[Right::View, Right::Add, Right::Edit]).await;
    let (_, editor) = with_rights(farm, "editor", "", &[Right::View, Right::Publish]).await;
    let id = put(&author, "Pages/a.md", "one").await.unwrap().id;
    (id, author, editor)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_what_was_looked_at() {
    each_farm(|farm| async move {
        let (id, author, editor) = draft(&farm).await;
        let target = id.into();
        let first = latest(&author, &target).await;
        assert_eq!(editor.approve(&target, first, "").await.unwrap_err().code(), Code::NotSubmitted);
        assert_eq!(author.submit(&target, None, "please").await.unwrap(), FIRST);
        assert_eq!(editor.home(9).await.unwrap().waiting.len(), 1);
        assert!(author.home(9).await.unwrap().waiting.is_empty());
        // A change after the submission has to be submitted again.
        put(&author, "Pages/a.md", "two").await.unwrap();
        assert!(editor.submission(&target).await.unwrap().is_none());
        assert!(editor.home(9).await.unwrap().waiting.is_empty());
        assert_eq!(editor.approve(&target, first, "").await.unwrap_err().code(), Code::NotSubmitted);
        assert_eq!(author.submit(&target, Some(first), "").await.unwrap_err().code(), Code::Overtaken);
        let second = latest(&author, &target).await;
        assert_eq!(author.submit(&target, Some(second), "").await.unwrap(), SECOND);
        assert_eq!(editor.submission(&target).await.unwrap().unwrap().version_id, second);
        // Who looked at the first draft does not approve the second one.
        assert_eq!(editor.approve(&target, first, "").await.unwrap_err().code(), Code::Overtaken);
        assert_eq!(editor.reject(&target, first, "no").await.unwrap_err().code(), Code::Overtaken);
        assert_eq!(editor.approve(&target, second, "fine").await.unwrap(), VersionNumber::new(1, 0));
        assert_eq!(read(&editor, &target, VersionChoice::Visible).await.unwrap(), "two");
        assert!(editor.submission(&target).await.unwrap().is_none());
        assert_eq!(author.submit(&target, None, "").await.unwrap_err().code(), Code::NoDraft);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_took_the_number_of_another_one_is_not_approved() {
    each_farm(|farm| async move {
        let (_, author, editor) = draft(&farm).await;
        // A program that makes an empty file and fills it makes one version.
        let save = async |text: &'static str| {
            let options = UploadOptions { one_save: true, ..UploadOptions::default() };
            author.upload_bytes(&to("Pages/b.md"), options, text.into()).await.unwrap()
        };
        let target = save("").await.id.into();
        author.submit(&target, None, "").await.unwrap();
        let seen = latest(&editor, &target).await;
        assert_eq!(save("something else").await.number, FIRST);
        author.submit(&target, None, "").await.unwrap();
        assert_eq!(editor.approve(&target, seen, "").await.unwrap_err().code(), Code::Overtaken);
        assert_eq!(editor.reject(&target, seen, "no").await.unwrap_err().code(), Code::Overtaken);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_not_told_of_drafts_that_wait() {
    each_farm(|farm| async move {
        let (id, author, editor) = draft(&farm).await;
        let target = id.into();
        let (_, reader) = with_rights(&farm, "reader", "", &[Right::View, Right::ViewVersions]).await;
        editor.publish(&target, "").await.unwrap();
        put(&author, "Pages/a.md", "two").await.unwrap();
        author.submit(&target, None, "").await.unwrap();
        author.withdraw(&target).await.unwrap();
        author.submit(&target, None, "").await.unwrap();
        editor.reject(&target, latest(&editor, &target).await, "no").await.unwrap();
        let admin = farm.administrator().await;
        for (session, sees) in [(&reader, false), (&admin, true)] {
            let told = session.activity(&target, None, 50).await.unwrap();
            let tells = |action: &str| told.items.iter().any(|event| event.action == action);
            for action in ["document.submit", "document.withdraw", "document.reject"] {
                assert_eq!(tells(action), sees, "{action}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_says_why_and_the_next_draft_is_submitted_anew() {
    each_farm(|farm| async move {
        let (id, author, editor) = draft(&farm).await;
        let target = id.into();
        author.submit(&target, None, "please").await.unwrap();
        let first = latest(&author, &target).await;
        assert_eq!(editor.reject(&target, first, " ").await.unwrap_err().code(), Code::ReasonRequired);
        assert_eq!(author.reject(&target, first, "x").await.unwrap_err().code(), Code::Forbidden);
        editor.reject(&target, first, "too short").await.unwrap();
        let found = author.submission(&target).await.unwrap().unwrap();
        assert_eq!((found.version, found.version_id, found.comment.as_str()), (FIRST, first, "please"));
        assert_eq!(found.rejection.unwrap().reason, "too short");
        assert!(editor.home(9).await.unwrap().waiting.is_empty());
        for again in [editor.approve(&target, first, "").await.map(drop), author.withdraw(&target).await] {
            assert_eq!(again.unwrap_err().code(), Code::NotSubmitted);
        }
        // The author answers and submits the same draft again.
        author.submit(&target, None, "it is long enough").await.unwrap();
        assert!(author.submission(&target).await.unwrap().unwrap().rejection.is_none());
        author.withdraw(&target).await.unwrap();
        assert!(author.submission(&target).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_are_seen_and_withdrawn_by_few() {
    each_farm(|farm| async move {
        let (id, author, editor) = draft(&farm).await;
        let target = id.into();
        let (_, reader) = with_rights(&farm, "reader", "", &[Right::View]).await;
        let (_, other) = with_rights(&farm, "other", "", &[Right::View, Right::Edit]).await;
        author.submit(&target, None, "please").await.unwrap();
        assert_eq!(reader.submission(&target).await.unwrap_err().code(), Code::NotFound, "it is only a draft");
        assert_eq!(other.withdraw(&target).await.unwrap_err().code(), Code::Forbidden);
        assert_eq!(editor.submit(&target, None, "").await.unwrap_err().code(), Code::Forbidden);
        // A check-out holds the decision up, and its working copy is another draft.
        let first = latest(&author, &target).await;
        author.check_out(&target).await.unwrap();
        assert_eq!(editor.approve(&target, first, "").await.unwrap_err().code(), Code::CheckedOut);
        assert_eq!(author.submit(&target, None, "").await.unwrap_err().code(), Code::NoDraft);
        put(&author, "Pages/a.md", "two").await.unwrap();
        author.check_in(&target, CheckIn::default()).await.unwrap();
        assert!(author.submission(&target).await.unwrap().is_none());
        // Publishing without a submission settles it, too.
        author.submit(&target, None, "").await.unwrap();
        editor.publish(&target, "").await.unwrap();
        assert!(editor.submission(&target).await.unwrap().is_none());
        put(&author, "Pages/a.md", "three").await.unwrap();
        assert!(reader.submission(&target).await.unwrap().is_none());
    })
    .await;
}

async fn put_published(session: &Session, path: &str) -> model::Result<()> {
    let options = UploadOptions { publish: true, ..UploadOptions::default() };
    session.upload_bytes(&to(path), options, "two".into()).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_publishes_by_approval_alone() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        let by_approval = LibrarySettings { require_approval: true, ..drafts.clone() };
        let without_drafts = LibrarySettings { require_approval: true, ..LibrarySettings::default() };
        let refused = admin.create_library(&at(""), &Name::new("No").unwrap(), without_drafts.clone()).await;
        assert_eq!(refused.unwrap_err().code(), Code::ApprovalWithoutDrafts);
        for (name, settings) in [("News", &by_approval), ("Free", &drafts)] {
            admin.create_library(&at(""), &Name::new(name).unwrap(), settings.clone()).await.unwrap();
        }
        let refused = admin.change_library(&at("Free"), without_drafts).await;
        assert_eq!(refused.unwrap_err().code(), Code::ApprovalWithoutDrafts);
        assert_eq!(admin.library_settings(&at("News")).await.unwrap(), by_approval);
        let member = [Right::View, Right::ViewVersions, Right::Add, Right::Edit, Right::Delete, Right::Publish];
        let (_, member) = with_rights(&farm, "member", "", &member).await;
        let (_, owner) = with_rights(&farm, "owner", "", &[Right::View, Right::Publish, Right::Override]).await;
        let (_, overrides) = with_rights(&farm, "overrides", "", &[Right::View, Right::Edit, Right::Override]).await;
        let target = put(&member, "News/a.md", "one").await.unwrap().id.into();
        // Every way to publish is refused to somebody who may publish elsewhere.
        let mut refusals = vec![
            member.publish(&target, "").await.map(drop),
            put_published(&member, "News/a.md").await,
            put_published(&member, "News/new.md").await,
        ];
        member.check_out(&target).await.unwrap();
        put(&member, "News/a.md", "working").await.unwrap();
        let publish = CheckIn { publish: true, ..CheckIn::default() };
        refusals.push(member.check_in(&target, publish).await.map(drop));
        member.discard_check_out(&target).await.unwrap();
        let elsewhere = put(&member, "Free/b.md", "b").await.unwrap().id.into();
        member.publish(&elsewhere, "").await.unwrap();
        for refused in refusals {
            assert_eq!(refused.unwrap_err().code(), Code::ApprovalRequired);
        }
        let moved = member.move_to(&elsewhere, &at("News"), None).await;
        assert_eq!(moved.unwrap_err().code(), Code::WouldPublish);
        member.submit(&target, None, "").await.unwrap();
        let first = latest(&member, &target).await;
        assert_eq!(member.approve(&target, first, "").await.unwrap_err().code(), Code::ApprovalRequired);
        assert_eq!(member.reject(&target, first, "no").await.unwrap_err().code(), Code::ApprovalRequired);
        // The right to override alone publishes nothing.
        assert!(overrides.approve(&target, first, "").await.unwrap_err().lack().is_some());
        for (person, decides) in [(&member, false), (&overrides, false), (&owner, true)] {
            assert_eq!(person.may_publish(&target).await.unwrap(), decides);
            assert_eq!(person.home(9).await.unwrap().waiting.len(), usize::from(decides));
        }
        assert_eq!(owner.approve(&target, first, "").await.unwrap(), VersionNumber::new(1, 0));
        put(&member, "News/a.md", "two").await.unwrap();
        assert_eq!(owner.publish(&target, "").await.unwrap(), VersionNumber::new(2, 0));
        // Who may change settings alone cannot turn approval off.
        let manages = [Right::View, Right::Publish, Right::ManageLibraries];
        let (_, manager) = with_rights(&farm, "manager", "", &manages).await;
        assert!(manager.change_library(&at("News"), drafts.clone()).await.unwrap_err().lack().is_some());
        manager.change_library(&at("Free"), by_approval).await.unwrap();
        admin.change_library(&at("News"), drafts).await.unwrap();
    })
    .await;
}
