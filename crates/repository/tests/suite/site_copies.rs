//! Tests of copying libraries, lists and sites with all that is in them, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{column, formula, name, number, set, text, titles, value, with_options};
use crate::support::{Farm, at, each_farm, get, names, put, with_rights};
use database::content::node::{self, NodeRow};
use database::{Database, Schema, Transaction};
use model::{
    Accent, Code, ColumnKind, ColumnValue, ErrorKind, Id, LibrarySettings, NodeKind, Right, Role, Timestamp, Versioning,
};
use repository::{
    ColumnOptions, LinkTarget, ListRequest, NewView, Session, SiteLink, SiteLookChange, Target, ValuesChange,
};

/// The column of a list or library with a name.
async fn column_of(session: &Session, holder: &Target, label: &str) -> Id {
    let (columns, _) = session.columns(holder).await.unwrap();
    columns.into_iter().find(|column| column.name == label).unwrap().id
}

async fn list(session: &Session, site: &str, label: &str) -> (Target, Id) {
    let list = session.create_list(&at(site), &name(label), &name("Title")).await.unwrap();
    let target = Target::Id(list.id);
    let title = column_of(session, &target, "Title").await;
    (target, title)
}

/// Documents and bytes that the site collection counts.
async fn usage(session: &Session) -> (u64, u64) {
    let collection = session.item(&at("")).await.unwrap().collection_id;
    let usage = session.site_collection(collection).await.unwrap().usage.unwrap();
    (usage.documents, usage.used_bytes)
}

fn entries(ids: &[Id]) -> Option<ColumnValue> {
    Some(ColumnValue::Multiple(ids.iter().map(|id| ColumnValue::Lookup(*id)).collect()))
}

/// A site with a library of pages and two lists that look up each other's entries.
struct Team {
    projects: Id,
    first: Id,
    second: Id,
}

async fn team(admin: &Session) -> Team {
    admin.create_site(&at(""), &name("Team")).await.unwrap();
    let (projects, title) = list(admin, "Team", "Projects").await;
    let (tasks, task) = list(admin, "Team", "Tasks").await;
    let kind = ColumnKind::Lookup(admin.item(&projects).await.unwrap().id).taking_multiple(true).unwrap();
    let of_task = column(admin, &tasks, "Projects", kind).await;
    let kind = ColumnKind::Lookup(admin.item(&tasks).await.unwrap().id);
    let next = column(admin, &projects, "Next", kind).await;
    let effort = column(admin, &tasks, "Effort", ColumnKind::Number).await;
    with_options(admin, &tasks, "Double", ColumnKind::Number, formula("[Effort] * 2")).await.unwrap();
    let code = ColumnOptions { unique: true, check: "[Effort] < 100".into(), ..ColumnOptions::default() };
    let code = with_options(admin, &tasks, "Code", ColumnKind::Text, code).await.unwrap();
    let gone = admin.add_row(&projects, vec![(title, text("gone"))]).await.unwrap();
    admin.delete(&gone.into()).await.unwrap();
    let first = admin.add_row(&projects, vec![(title, text("first"))]).await.unwrap();
    let second = admin.add_row(&projects, vec![(title, text("second"))]).await.unwrap();
    let values =
        vec![(task, text("build")), (of_task, entries(&[first, second])), (effort, number(3.0)), (code, text("B"))];
    let build = admin.add_row(&tasks, values).await.unwrap();
    set(admin, second, next, Some(ColumnValue::Lookup(build))).await.unwrap();
    put(admin, "Team/Tasks/1/plan.txt", "attached").await.unwrap();
    let view = NewView {
        name: name("Large"),
        query: format!("sort={effort}&filter=%5B%23{effort}%5D+%3E+1&cols={code}:90,modified"),
        shared: true,
        standard: true,
    };
    admin.save_view(&tasks, view).await.unwrap();
    let drafts = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
    admin.create_library(&at("Team"), &name("Pages"), drafts).await.unwrap();
    let state = column(admin, &at("Team/Pages"), "State", ColumnKind::Text).await;
    let note = admin.create_content_type(&at("Team/Pages"), &name("Note")).await.unwrap();
    let home = put(admin, "Team/Pages/folder/Home.md", "home").await.unwrap().id;
    let change = ValuesChange {
        values: vec![(state, text("ready"))],
        content_type: Some(Some(note)),
        ..ValuesChange::default()
    };
    admin.set_values(&home.into(), change).await.unwrap();
    admin.publish(&home.into(), "").await.unwrap();
    put(admin, "Team/Pages/Draft.md", "draft").await.unwrap();
    let mut links = Vec::new();
    for target in ["Team/Tasks", "Documents"] {
        let id = admin.item(&at(target)).await.unwrap().id;
        links.push(SiteLink { label: String::new(), target: LinkTarget::Item { id, path: String::new() } });
    }
    let look = SiteLookChange {
        accent: Some(Some(Accent::Blue)),
        links: Some(links),
        home: Some(Some(home)),
        ..SiteLookChange::default()
    };
    admin.change_site_look(&at("Team"), look).await.unwrap();
    admin.create_site(&at("Team"), &name("Inner")).await.unwrap();
    admin.create_library(&at("Team/Inner"), &name("Papers"), LibrarySettings::default()).await.unwrap();
    put(admin, "Team/Inner/Papers/a.txt", "a").await.unwrap();
    Team { projects: admin.item(&projects).await.unwrap().id, first, second }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_copied_with_everything_in_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let team = team(&admin).await;
        let before = usage(&admin).await;
        let copy = admin.copy_to(&at("Team"), &at(""), None).await.unwrap();
        assert_eq!(copy.path, "Team (2)");
        assert_eq!(names(&admin, "Team (2)").await, ["Inner", "Pages", "Projects", "Tasks"]);
        let after = usage(&admin).await;
        let bytes = ["attached", "home", "draft", "a"].map(str::len).iter().sum::<usize>() as u64;
        assert_eq!((after.0 - before.0, after.1 - before.1), (4, bytes));
        assert_eq!(get(&admin, "Team (2)/Inner/Papers/a.txt").await.unwrap(), "a");
        assert_eq!(get(&admin, "Team (2)/Tasks/1/plan.txt").await.unwrap(), "attached");

        // Lookups name entries of the copies, in both directions, and rows keep their numbers.
        let projects = at("Team (2)/Projects");
        let (first, second) = (at("Team (2)/Projects/2"), at("Team (2)/Projects/3"));
        let (first, second) = (admin.item(&first).await.unwrap().id, admin.item(&second).await.unwrap().id);
        assert!(first != team.first && second != team.second);
        let tasks = at("Team (2)/Tasks");
        let build = admin.item(&at("Team (2)/Tasks/1")).await.unwrap().id;
        assert_eq!(value(&admin, build, column_of(&admin, &tasks, "Projects").await).await, entries(&[first, second]));
        let next = column_of(&admin, &projects, "Next").await;
        assert_eq!(value(&admin, second, next).await, Some(ColumnValue::Lookup(build)));
        let title = column_of(&admin, &projects, "Title").await;
        admin.add_row(&projects, vec![(title, text("third"))]).await.unwrap();
        assert!(admin.item(&at("Team (2)/Projects/4")).await.is_ok());
        assert_eq!(names(&admin, "Team/Projects").await.len(), 2);

        // Formulas, checks, unique values and views are over the columns of the copy.
        let [effort, code] = [column_of(&admin, &tasks, "Effort").await, column_of(&admin, &tasks, "Code").await];
        let double = column_of(&admin, &tasks, "Double").await;
        assert_eq!(value(&admin, build, double).await, number(6.0));
        set(&admin, build, effort, number(7.0)).await.unwrap();
        assert_eq!(value(&admin, build, double).await, number(14.0));
        assert_eq!(set(&admin, build, effort, number(100.0)).await.unwrap_err().code(), Code::CheckFailed);
        let task = column_of(&admin, &tasks, "Title").await;
        let taken = admin.add_row(&tasks, vec![(task, text("x")), (code, text("B"))]).await.unwrap_err();
        assert_eq!(taken.code(), Code::ValueTaken);
        let views = admin.views(&tasks).await.unwrap();
        let expected = format!("sort={effort}&filter=%5B%23{effort}%5D+%3E+1&cols={code}%3A90%2Cmodified");
        assert_eq!((views[0].name.as_str(), views[0].query.as_str(), views[0].standard), ("Large", &*expected, true));
        let request = ListRequest { sort: repository::Sort::Column(effort), ..ListRequest::default() };
        assert_eq!(titles(&admin, &tasks, &request, 10).await, ["build"]);

        // The look leads to what was copied, and the home page is published.
        let look = admin.site_look(&copy.id.into()).await.unwrap();
        assert_eq!(look.accent, Some(Accent::Blue));
        let paths: Vec<_> = look
            .links
            .iter()
            .map(|link| match &link.target {
                LinkTarget::Item { path, .. } => path.as_str(),
                LinkTarget::Address(address) => address.as_str(),
            })
            .collect();
        assert_eq!(paths, ["Team (2)/Tasks", "Documents"]);
        let home = admin.site_home(&copy.id.into()).await.unwrap().unwrap();
        assert_eq!((home.path.as_str(), home.version.to_string().as_str()), ("Team (2)/Pages/folder/Home.md", "1.0"));
        let state = column_of(&admin, &at("Team (2)/Pages"), "State").await;
        assert_eq!(value(&admin, home.id, state).await, text("ready"));
        let (_, types) = admin.columns(&at("Team (2)/Pages")).await.unwrap();
        let (_, old) = admin.columns(&at("Team/Pages")).await.unwrap();
        assert_eq!((types.len(), types[0].name.as_str(), home.content_type_id), (1, "Note", Some(types[0].id)));
        assert_ne!(types[0].id, old[0].id);
        assert_eq!(admin.item(&at("Team (2)/Pages/Draft.md")).await.unwrap().version.to_string(), "0.1");
        let (id, _) = farm.person("reader").await;
        admin.grant(&at(""), id, Role::READ).await.unwrap();
        let reader = farm.session(id).await;
        assert_eq!(names(&reader, "Team (2)/Pages").await, ["folder"]);
        assert_eq!(get(&reader, "Team (2)/Pages/folder/Home.md").await.unwrap(), "home");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_copied_alone_looks_up_the_same_entries() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let team = team(&admin).await;
        let copy = admin.copy_to(&at("Team/Tasks"), &at(""), Some(&name("Work"))).await.unwrap();
        assert_eq!(copy.path, "Work");
        let projects = column_of(&admin, &at("Work"), "Projects").await;
        let build = admin.item(&at("Work/1")).await.unwrap().id;
        assert_eq!(value(&admin, build, projects).await, entries(&[team.first, team.second]));
        let (columns, _) = admin.columns(&at("Work")).await.unwrap();
        let kind = columns.into_iter().find(|column| column.id == projects).unwrap().kind;
        assert_eq!(*kind.single(), ColumnKind::Lookup(team.projects));
        let again = admin.copy_to(&at("Work"), &at(""), None).await.unwrap();
        assert_eq!(again.path, "Work (2)");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_omits_what_its_author_may_not_open() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let team = team(&admin).await;
        for hidden in ["Team/Inner", "Team/Pages/folder"] {
            admin.break_inheritance(&at(hidden), false).await.unwrap();
        }
        admin.break_inheritance(&team.first.into(), false).await.unwrap();
        let rights = [Right::View, Right::Add, Right::ManageLibraries, Right::ManageSite];
        let (id, _) = with_rights(&farm, "maker", "Team", &rights).await;
        let role = admin.role_by_name("maker").await.unwrap().id;
        admin.grant(&at(""), id, role).await.unwrap();
        let maker = farm.session(id).await;
        maker.copy_to(&at("Team"), &at(""), Some(&name("Copy"))).await.unwrap();
        assert_eq!(names(&admin, "Copy").await, ["Pages", "Projects", "Tasks"]);
        assert_eq!(names(&admin, "Copy/Pages").await, Vec::<String>::new(), "neither the folder nor another's draft");
        let rows = titles(&admin, &at("Copy/Projects"), &ListRequest::default(), 10).await;
        assert_eq!(rows, ["second"]);
        let projects = column_of(&admin, &at("Copy/Tasks"), "Projects").await;
        let build = admin.item(&at("Copy/Tasks/1")).await.unwrap().id;
        let second = admin.item(&at("Copy/Projects/3")).await.unwrap().id;
        assert_eq!(value(&admin, build, projects).await, entries(&[second]));
        assert!(maker.site_home(&at("Copy")).await.unwrap().is_none(), "the home page was not copied");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_stays_so_only_for_those_who_may_publish() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        team(&admin).await;
        let rights = [Right::View, Right::Add, Right::Edit, Right::ManageLibraries];
        let publishing = [rights.as_slice(), &[Right::Publish]].concat();
        let overriding = [publishing.as_slice(), &[Right::Override]].concat();
        for (login, rights, by_approval, version) in [
            ("writer", &rights[..], false, "0.1"),
            ("publisher", &publishing, false, "1.0"),
            ("submitter", &publishing, true, "0.1"),
            ("approver", &overriding, true, "1.0"),
        ] {
            let (_, session) = with_rights(&farm, login, "Team", rights).await;
            let drafts = admin.library_settings(&at("Team/Pages")).await.unwrap();
            let settings = LibrarySettings { require_approval: by_approval, ..drafts };
            admin.change_library(&at("Team/Pages"), settings).await.unwrap();
            session.copy_to(&at("Team/Pages"), &at("Team"), Some(&name(login))).await.unwrap();
            let home = admin.item(&at(&format!("Team/{login}/folder/Home.md"))).await.unwrap();
            assert_eq!(home.version.to_string(), version, "{login}");
        }
    })
    .await;
}

async fn refused(session: &Session, from: &str, to: &str) -> Code {
    session.copy_to(&at(from), &at(to), None).await.unwrap_err().code()
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_need_the_rights_to_create_what_they_are() {
    each_farm(|farm: Farm| async move {
        let admin = farm.administrator().await;
        team(&admin).await;
        admin.create_site(&at(""), &name("Goal")).await.unwrap();
        let all = [Right::View, Right::Add, Right::ManageLibraries, Right::ManageSite];
        for (source, needed) in [("Team", &all[..]), ("Team/Tasks", &all[..3]), ("Team/Pages", &all[..3])] {
            for left_out in needed {
                let rights: Vec<Right> = needed.iter().copied().filter(|right| right != left_out).collect();
                let login = format!("{}-{left_out:?}", source.replace('/', "-")).to_lowercase();
                let (id, _) = with_rights(&farm, &login, "Goal", &rights).await;
                admin.grant(&at(""), id, Role::READ).await.unwrap();
                let session = farm.session(id).await;
                let error = session.copy_to(&at(source), &at("Goal"), None).await.unwrap_err();
                let expected = match left_out {
                    // The right to read comes from the site above.
                    Right::View => ErrorKind::NotFound,
                    _ => ErrorKind::Forbidden,
                };
                assert_eq!(error.kind(), expected, "{source} without {left_out:?}");
            }
        }
        assert_eq!(refused(&admin, "Team", "Team/Inner").await, Code::IntoItself);
        assert_eq!(refused(&admin, "", "Team").await, Code::IntoItself);
        assert_eq!(refused(&admin, "Team/Tasks", "Documents").await, Code::WrongKind);
        assert_eq!(refused(&admin, "Team", "Team/Tasks").await, Code::WrongKind);
        assert_eq!(refused(&admin, "Team/Pages/folder", "Goal").await, Code::WrongKind);
        let (tasks, goal) = (at("Team/Tasks"), at("Goal"));
        admin.copy_to(&tasks, &goal, Some(&name("A"))).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_not_copied_and_no_item_twice() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let folder = put(&admin, "Documents/folder/a.txt", "x").await.unwrap();
        let content = Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await;
        let content = content.unwrap();
        let fill = move |transaction: &mut Transaction<'_>| {
            let document = node::find(transaction, folder.id)?.unwrap();
            let parent = node::find(transaction, document.parent_id)?.unwrap();
            let now = Timestamp::now();
            let folders = (1..=50_000).map(|n| {
                NodeRow::new(Id::new(n), &parent, NodeKind::Folder, &name(&n.to_string()), document.created_by, now)
            });
            node::insert_many(transaction, &folders.collect::<Vec<_>>())
        };
        content.write(fill).await.unwrap();
        content.close().await;
        admin.create_site(&at(""), &name("Goal")).await.unwrap();
        let (documents, goal) = (at("Documents"), at("Goal"));
        for refused in [
            admin.copy_to(&documents, &goal, None).await.unwrap_err(),
            admin.copy_to(&at("Documents/folder"), &documents, None).await.unwrap_err(),
            admin
                .copy_onto(&at("Documents/folder"), &documents, &name("copy"), repository::Transfer::default())
                .await
                .unwrap_err(),
        ] {
            assert_eq!((refused.code(), refused.kind()), (Code::CopyTooLarge, ErrorKind::Exhausted));
        }
        assert_eq!(names(&admin, "Goal").await, Vec::<String>::new());
        let outcomes = admin.copy_many(&[Id::new(1), Id::new(2), Id::new(1)], &documents).await.unwrap();
        assert_eq!(outcomes.iter().map(|outcome| outcome.id).collect::<Vec<_>>(), [Id::new(1), Id::new(2)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calculated_values_that_are_not_computed_yet_are_computed_in_the_copy() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        admin.create_library(&at(""), &name("Papers"), LibrarySettings::default()).await.unwrap();
        let papers = at("Papers");
        let effort = column(&admin, &papers, "Effort", ColumnKind::Number).await;
        let document = put(&admin, "Papers/a.txt", "x").await.unwrap().id;
        set(&admin, document, effort, number(2.0)).await.unwrap();
        let double =
            with_options(&admin, &papers, "Double", ColumnKind::Number, formula("[Effort] * 2")).await.unwrap();
        assert_eq!(value(&admin, document, double).await, None, "it is computed in the background");
        admin.copy_to(&papers, &at(""), Some(&name("Copy"))).await.unwrap();
        assert_eq!(farm.repository.recompute().await.unwrap(), 2);
        let copy = admin.item(&at("Copy/a.txt")).await.unwrap().id;
        assert_eq!(value(&admin, copy, column_of(&admin, &at("Copy"), "Double").await).await, number(4.0));
    })
    .await;
}
