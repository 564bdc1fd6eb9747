//! Saved searches: who has them, how many there may be, and what is new among their results.

#![expect(clippy::unwrap_used, reason = "a farm that cannot be had fails the test")]

use crate::support::index::freeze;
use crate::support::{at, each_farm, put, with_rights};
use model::{Code, Id, LibrarySettings, Limits, Principal, Result, Right, SearchAlert, TokenScopes, Versioning};
use repository::{HitOrder, MAX_MARKED, MAX_SAVED_SEARCHES, SearchToSave, Session};

fn to_save(name: &str, query: &str) -> SearchToSave {
    let alert = SearchAlert::AtOnce;
    SearchToSave { name: name.to_owned(), query: query.to_owned(), alert, ..SearchToSave::default() }
}

/// Returns the paths of the new documents.
async fn new_of(session: &Session, search: Id) -> Vec<String> {
    let new = session.new_of_saved_search(search).await.unwrap();
    assert!(new.found.whole);
    assert_eq!(new.found.documents, new.found.items.len() as u64);
    let mut paths: Vec<String> = new.found.items.into_iter().map(|found| found.item.path).collect();
    paths.sort();
    paths
}

/// Marks the new documents as seen.
async fn mark(session: &Session, search: Id) {
    let versions = session.new_of_saved_search(search).await.unwrap().versions;
    session.mark_saved_search_seen(search, Some(versions)).await.unwrap();
}

fn code<T>(result: Result<T>) -> Code {
    result.err().unwrap().code()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_new_until_its_version_was_seen() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (one, two) = ("Documents/open/one.txt", "Documents/open/two.txt");
        put(&admin, one, "x").await.unwrap();
        let index = freeze(&farm, &[one]).await;
        let search = admin.save_search(to_save("Open", "open")).await.unwrap();
        assert!(new_of(&admin, search).await.is_empty());
        put(&admin, two, "x").await.unwrap();
        drop(index);
        let index = freeze(&farm, &[one, two]).await;
        assert_eq!(new_of(&admin, search).await, [two]);
        let counts = admin.count_new_of_saved_searches().await.unwrap();
        assert_eq!(counts.iter().map(|count| count.new_documents).collect::<Vec<_>>(), [Some(1)]);
        let shown = admin.new_of_saved_search(search).await.unwrap().versions;
        // Replaced after the user saw it, and before it is marked as seen.
        put(&admin, two, "y").await.unwrap();
        drop(index);
        let index = freeze(&farm, &[one, two]).await;
        admin.mark_saved_search_seen(search, Some(shown)).await.unwrap();
        assert_eq!(new_of(&admin, search).await, [two]);
        mark(&admin, search).await;
        assert!(new_of(&admin, search).await.is_empty());
        // The results of a new query count as seen.
        let changed = SearchToSave { order: HitOrder::Oldest, ..to_save("All", "documents") };
        let changed = admin.replace_saved_search(search, changed).await.unwrap();
        assert_eq!((changed.name.as_str(), changed.order), ("All", HitOrder::Oldest));
        assert!(new_of(&admin, search).await.is_empty());
        drop(index);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_marked_versions_are_seen() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/open/one.txt", "Documents/open/two.txt", "Documents/open/three.txt"];
        let index = freeze(&farm, &[]).await;
        let search = admin.save_search(to_save("Open", "open")).await.unwrap();
        drop(index);
        put(&admin, all[0], "x").await.unwrap();
        put(&admin, all[1], "x").await.unwrap();
        let index = freeze(&farm, &all[..2]).await;
        let shown = admin.new_of_saved_search(search).await.unwrap().versions;
        assert_eq!(shown.len(), 2);
        // Created before the user marks the others, and known to the index.
        put(&admin, all[2], "x").await.unwrap();
        drop(index);
        let index = freeze(&farm, &all).await;
        // Versions that the search does not find change nothing.
        let marked = vec![shown[0], Id::new(1)];
        admin.mark_saved_search_seen(search, Some(marked)).await.unwrap();
        assert_eq!(new_of(&admin, search).await.len(), 2);
        admin.mark_saved_search_seen(search, Some(vec![shown[1]])).await.unwrap();
        assert_eq!(new_of(&admin, search).await, [all[2]]);
        admin.mark_saved_search_seen(search, None).await.unwrap();
        assert!(new_of(&admin, search).await.is_empty());
        let many = vec![shown[0]; MAX_MARKED + 1];
        assert_eq!(code(admin.mark_saved_search_seen(search, Some(many)).await), Code::TooMany);
        drop(index);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_decide_at_the_time_of_asking() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/open/one.txt", "Documents/open/two.txt", "Documents/secret/three.txt"];
        put(&admin, all[0], "x").await.unwrap();
        put(&admin, all[2], "x").await.unwrap();
        for folder in ["Documents/open", "Documents/secret"] {
            admin.break_inheritance(&at(folder), false).await.unwrap();
        }
        let (rita, reader) = with_rights(&farm, "rita", "Documents/open", &[Right::View]).await;
        let index = freeze(&farm, &[all[0], all[2]]).await;
        let search = reader.save_search(to_save("Mine", "documents")).await.unwrap();
        let of_admin = admin.save_search(to_save("Mine", "documents")).await.unwrap();
        put(&admin, all[1], "x").await.unwrap();
        drop(index);
        let index = freeze(&farm, &all).await;
        assert_eq!(new_of(&reader, search).await, [all[1]]);
        // Taken away, it is hidden at once, and what is given instead is new, though nobody changed it since.
        admin.break_inheritance(&at(all[1]), false).await.unwrap();
        assert!(new_of(&reader, search).await.is_empty());
        let role = admin.roles().await.unwrap().into_iter().find(|role| role.name == "rita").unwrap().id;
        admin.grant(&at("Documents/secret"), rita, role).await.unwrap();
        drop(index);
        let index = freeze(&farm, &[all[0], all[2]]).await;
        assert_eq!(new_of(&reader, search).await, [all[2]]);
        mark(&reader, search).await;
        assert!(new_of(&reader, search).await.is_empty());
        // Nobody else has it, not even an administrator.
        assert_eq!(code(admin.saved_search(search).await), Code::NotFound);
        assert_eq!(code(admin.new_of_saved_search(search).await), Code::NotFound);
        assert_eq!(code(admin.latest_of_saved_search(search).await), Code::NotFound);
        assert_eq!(code(admin.replace_saved_search(search, to_save("Mine", "x")).await), Code::NotFound);
        assert_eq!(code(admin.mark_saved_search_seen(search, None).await), Code::NotFound);
        assert_eq!(code(admin.delete_saved_search(search).await), Code::NotFound);
        assert_eq!(admin.saved_searches().await.unwrap().iter().map(|one| one.id).collect::<Vec<_>>(), [of_admin]);
        // They go with the account, also if it is enabled again.
        admin.delete_account(rita).await.unwrap();
        assert_eq!(code(reader.saved_search(search).await), Code::NotFound);
        drop(index);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_to_be_read_is_missed_by_those_who_may_open_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/open/one.txt", "Documents/secret/waiting.txt"];
        for path in all {
            put(&admin, path, "x").await.unwrap();
        }
        for folder in ["Documents/open", "Documents/secret"] {
            admin.break_inheritance(&at(folder), false).await.unwrap();
        }
        let (_, reader) = with_rights(&farm, "rita", "Documents/open", &[Right::View]).await;
        let index = freeze(&farm, &all).await;
        for (session, is_whole) in [(&admin, false), (&reader, true)] {
            let search = session.save_search(to_save("Mine", "documents")).await.unwrap();
            assert_eq!(session.new_of_saved_search(search).await.unwrap().found.whole, is_whole);
        }
        drop(index);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_version_is_new_for_those_who_see_no_drafts() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.change_library(&at("Documents"), settings).await.unwrap();
        let plan = "Documents/plan.txt";
        put(&admin, plan, "x").await.unwrap();
        let (_, reader) = with_rights(&farm, "rita", "Documents", &[Right::View]).await;
        let index = freeze(&farm, &[plan]).await;
        let search = reader.save_search(to_save("Plans", "plan")).await.unwrap();
        assert!(new_of(&reader, search).await.is_empty());
        admin.publish(&at(plan), "").await.unwrap();
        drop(index);
        let index = freeze(&farm, &[plan]).await;
        assert_eq!(new_of(&reader, search).await, [plan]);
        drop(index);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn daily_alerts_count_from_the_next_day_on() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let plan = "Documents/plan.txt";
        let daily = SearchToSave { alert: SearchAlert::Daily, ..to_save("Plans", "plan") };
        let index = freeze(&farm, &[]).await;
        let search = admin.save_search(daily).await.unwrap();
        put(&admin, plan, "x").await.unwrap();
        drop(index);
        let index = freeze(&farm, &[plan]).await;
        assert_eq!(new_of(&admin, search).await, [plan]);
        let counts = admin.count_new_of_saved_searches().await.unwrap();
        assert_eq!(counts[0].new_documents, Some(0));
        assert!(admin.latest_of_saved_search(search).await.unwrap().found.items.is_empty());
        drop(index);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_numbers_and_credentials_are_limited() {
    each_farm(|farm| async move {
        let (_, session) = farm.person("rita").await;
        let first = session.save_search(to_save("Plans", "plan")).await.unwrap();
        assert_eq!(code(session.save_search(to_save("  PLANS ", "x")).await), Code::NameTaken);
        for (name, query, expected) in [
            ("", "x", Code::InvalidName),
            ("a", " \t", Code::InvalidQuery),
            ("a", "size>", Code::InvalidQuery),
            ("a", "a\u{0}b", Code::InvalidText),
            ("a", &"x".repeat(4_097), Code::SearchTooLong),
        ] {
            assert_eq!(code(session.save_search(to_save(name, query)).await), expected);
        }
        for n in 1..MAX_SAVED_SEARCHES {
            session.save_search(to_save(&format!("{n}"), "x")).await.unwrap();
        }
        assert_eq!(code(session.save_search(to_save("one more", "x")).await), Code::TooMany);
        // Its own name is free for a search that is renamed.
        session.replace_saved_search(first, to_save("PLANS", "plan")).await.unwrap();
        assert_eq!(code(session.replace_saved_search(first, to_save("1", "plan")).await), Code::NameTaken);
        session.delete_saved_search(first).await.unwrap();
        assert_eq!(code(session.delete_saved_search(first).await), Code::NotFound);
        let limits = Limits { scopes: TokenScopes::ALL, roots: vec![Id::new(1)] };
        let limited = Principal { limits, ..session.principal().clone() };
        let limited = farm.repository.as_caller(limited);
        assert_eq!(code(limited.saved_searches().await), Code::TokenScope);
        assert_eq!(code(limited.save_search(to_save("a", "x")).await), Code::TokenScope);
    })
    .await;
}
