//! Tests of what is told of sites, libraries, lists and folders, and of the documents in them that changed last; on
//! both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{change, new_list, text};
use crate::support::{at, each_farm, put};
use model::{Code, ErrorKind, LibrarySettings, Name, Role, Versioning};
use repository::{ItemEvent, RowChange, Session, Target};

/// Path, action and number of each event.
fn told(events: &[ItemEvent]) -> Vec<(String, String, usize)> {
    events.iter().map(|event| (event.item.path.clone(), event.action.clone(), event.items)).collect()
}

async fn below(session: &Session, path: &str) -> Vec<(String, String, usize)> {
    told(&session.recent_events_below(&at(path), 50).await.unwrap())
}

fn event(path: &str, action: &str, items: usize) -> (String, String, usize) {
    (path.to_owned(), action.to_owned(), items)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_tells_what_changed_in_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/2026/a.txt", "1").await.unwrap();
        let sub = admin.create_site(&at(""), &Name::new("team").unwrap()).await.unwrap();
        admin
            .create_library(&Target::Id(sub.id), &Name::new("Papers").unwrap(), LibrarySettings::default())
            .await
            .unwrap();
        put(&admin, "team/Papers/b.txt", "1").await.unwrap();
        put(&admin, "team/Papers/b.txt", "2").await.unwrap();
        put(&admin, "team/Papers/b.txt", "3").await.unwrap();
        let (b, a) = ("team/Papers/b.txt", "Documents/2026/a.txt");
        let papers = [event(b, "document.replace", 1), event(b, "document.create", 1)];
        assert_eq!(below(&admin, "team/Papers").await[..2], papers);
        // What was told once is not told again, and a site tells what its sites tell.
        let all = below(&admin, "").await;
        assert_eq!(all.iter().filter(|told| told.0 == b).count(), 2, "{all:?}");
        assert!(all.contains(&event(a, "document.create", 1)), "{all:?}");
        let folder = below(&admin, "Documents/2026").await;
        assert_eq!(folder, [event(a, "document.create", 1)]);
        let team = below(&admin, "team").await;
        assert!(!team.is_empty() && team.iter().all(|told| told.0.starts_with("team/")), "{team:?}");
        // What is gone is not told.
        admin.delete(&at(b)).await.unwrap();
        let team = below(&admin, "team").await;
        assert!(!team.is_empty() && team.iter().all(|told| told.0 != b), "{team:?}");
        assert_eq!(admin.recent_events_below(&at(a), 5).await.unwrap_err().code(), Code::WrongKind);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_one_person_changes_in_succession_are_one_event() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let add = |number: usize| RowChange::Add { set: vec![(title, text(&format!("Task {number}")))] };
        let added = change(&admin, &list, (1..=300).map(add).collect()).await;
        assert_eq!(below(&admin, "Tasks").await[0], event("Tasks", "row.create", 250));
        assert!(admin.recent_events_below(&list, 1).await.unwrap()[0].are_more);
        put(&admin, "Documents/a.txt", "1").await.unwrap();
        let (berta, _) = farm.person("berta").await;
        admin.break_inheritance(&list, true).await.unwrap();
        admin.grant(&list, berta, Role::CONTRIBUTE).await.unwrap();
        let berta = farm.session(berta).await;
        change(&berta, &list, vec![add(301)]).await;
        let path = |number: usize| format!("Tasks/{number}");
        assert_eq!(below(&berta, "Tasks").await[0], event(&path(301), "row.create", 1));
        assert_eq!(below(&berta, "Tasks").await[1], event("Tasks", "row.create", 250));
        // A reader hears of the rows that are there for him, and not how many others are.
        let (carl, _) = farm.person("carl").await;
        admin.grant(&list, carl, Role::READ).await.unwrap();
        for outcome in &added[..299] {
            admin.break_inheritance(&Target::Id(outcome.row.unwrap()), false).await.unwrap();
        }
        let carl = farm.session(carl).await;
        let seen = below(&carl, "Tasks").await;
        assert_eq!(seen[..2], [event(&path(301), "row.create", 1), event(&path(300), "row.create", 1)]);
        let stranger = farm.person("dora").await.1;
        assert_eq!(stranger.recent_events_below(&list, 5).await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_are_told_to_those_who_see_them() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.change_library(&at("Documents"), drafts).await.unwrap();
        put(&admin, "Documents/hidden.txt", "1").await.unwrap();
        put(&admin, "Documents/seen.txt", "1").await.unwrap();
        admin.publish(&at("Documents/seen.txt"), "").await.unwrap();
        put(&admin, "Documents/seen.txt", "2").await.unwrap();
        let (reader, _) = farm.person("reader").await;
        admin.break_inheritance(&at("Documents"), true).await.unwrap();
        admin.grant(&at("Documents"), reader, Role::READ).await.unwrap();
        let reader = farm.session(reader).await;
        let seen = below(&reader, "Documents").await;
        assert!(seen.iter().all(|told| told.0 != "Documents/hidden.txt"), "{seen:?}");
        assert!(seen.contains(&event("Documents/seen.txt", "version.publish", 1)), "{seen:?}");
        assert!(!seen.contains(&event("Documents/seen.txt", "document.replace", 1)), "{seen:?}");
        assert!(below(&admin, "Documents").await.contains(&event("Documents/hidden.txt", "document.create", 1)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_documents_of_a_site_come_from_all_its_libraries() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let sub = admin.create_site(&at(""), &Name::new("team").unwrap()).await.unwrap();
        for library in ["One", "Two"] {
            admin
                .create_library(&Target::Id(sub.id), &Name::new(library).unwrap(), LibrarySettings::default())
                .await
                .unwrap();
        }
        for number in 0..12 {
            put(&admin, &format!("team/One/in a folder/{number}.txt"), "1").await.unwrap();
            put(&admin, &format!("team/Two/{number}.txt"), "1").await.unwrap();
        }
        put(&admin, "Documents/elsewhere.txt", "1").await.unwrap();
        put(&admin, "team/One/in a folder/3.txt", "2").await.unwrap();
        admin.delete(&at("team/Two/11.txt")).await.unwrap();
        admin.break_inheritance(&at("team/Two/10.txt"), false).await.unwrap();
        let paths = |items: Option<Vec<repository::Item>>| -> Vec<String> {
            items.unwrap().into_iter().map(|item| item.path).collect()
        };
        let (reader, _) = farm.person("reader").await;
        admin.grant(&at(""), reader, Role::READ).await.unwrap();
        let reader = farm.session(reader).await;
        let one = |number: usize| format!("team/One/in a folder/{number}.txt");
        let two = |number: usize| format!("team/Two/{number}.txt");
        let found = paths(reader.recent_below(&Target::Id(sub.id), 5).await.unwrap());
        assert_eq!(found, [one(3), one(11), one(10), two(9), one(9)]);
        assert_eq!(paths(reader.recent_below(&at("team/Two"), 2).await.unwrap()), [two(9), two(8)]);
        assert_eq!(paths(reader.recent_below(&at("team/One/in a folder"), 50).await.unwrap()).len(), 12);
        assert_eq!(paths(reader.recent_below(&at(""), 2).await.unwrap()), [one(3), "Documents/elsewhere.txt".into()]);
        // Of a site with many libraries only a search can tell.
        for number in 0..51 {
            let name = Name::new(format!("Library {number}")).unwrap();
            admin.create_library(&at(""), &name, LibrarySettings::default()).await.unwrap();
        }
        assert!(reader.recent_below(&at(""), 2).await.unwrap().is_none());
        let all = told(&reader.recent_events_below(&at(""), 100).await.unwrap());
        assert!(all.contains(&event(&one(3), "document.replace", 1)), "{all:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_where_the_caller_may_not_look_hides_nothing() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/a.txt", "1").await.unwrap();
        let hidden = admin.create_library(&at(""), &Name::new("Hidden").unwrap(), LibrarySettings::default()).await;
        admin.break_inheritance(&Target::Id(hidden.unwrap().id), false).await.unwrap();
        for number in 0..110 {
            put(&admin, &format!("Hidden/{number}.txt"), "1").await.unwrap();
        }
        let (list, title) = new_list(&admin).await;
        admin.break_inheritance(&list, false).await.unwrap();
        let add = |number: usize| RowChange::Add { set: vec![(title, text(&format!("Task {number}")))] };
        change(&admin, &list, (1..=600).map(add).collect()).await;
        let (reader, _) = farm.person("reader").await;
        admin.grant(&at(""), reader, Role::READ).await.unwrap();
        let reader = farm.session(reader).await;
        let seen = below(&reader, "").await;
        assert_eq!(seen.first(), Some(&event("Documents/a.txt", "document.create", 1)), "{seen:?}");
        let recent = reader.recent_below(&at(""), 5).await.unwrap().unwrap();
        assert_eq!(recent.iter().map(|item| item.path.as_str()).collect::<Vec<_>>(), ["Documents/a.txt"]);
        // Many rows of one person are one event, behind which the earlier ones appear.
        // Activity may end with them where it runs out of time.
        let mut all = below(&admin, "").await;
        for _ in 0..100 {
            if all.len() > 1 {
                break;
            }
            all = below(&admin, "").await;
        }
        let rows = all.iter().position(|told| *told == event("Tasks", "row.create", 250)).unwrap();
        assert_eq!(all[rows + 1], event("Tasks", "list.create", 1), "{all:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_do_not_move_documents_forward_for_those_who_do_not_see_them() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.change_library(&at("Documents"), drafts).await.unwrap();
        for name in ["a", "b", "c"] {
            put(&admin, &format!("Documents/{name}.txt"), "1").await.unwrap();
            admin.publish(&at(&format!("Documents/{name}.txt")), "").await.unwrap();
        }
        put(&admin, "Documents/a.txt", "2").await.unwrap();
        let (reader, _) = farm.person("reader").await;
        admin.grant(&at(""), reader, Role::READ).await.unwrap();
        let reader = farm.session(reader).await;
        let names = |items: Option<Vec<repository::Item>>| -> Vec<String> {
            items.unwrap().into_iter().map(|item| item.name).collect()
        };
        for limit in [1, 2, 3] {
            let seen = names(reader.recent_below(&at("Documents"), limit).await.unwrap());
            assert_eq!(seen, ["c.txt", "b.txt", "a.txt"][..limit]);
            let own = names(admin.recent_below(&at("Documents"), limit).await.unwrap());
            assert_eq!(own, ["a.txt", "c.txt", "b.txt"][..limit]);
        }
    })
    .await;
}
