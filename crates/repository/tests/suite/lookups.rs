//! Tests of lookups: which entries a column takes, and who sees them; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{change, code, column, name, new_list, set, text, titles, value};
use crate::support::{Farm, at, each_farm, put, with_rights};
use model::{Code, ColumnKind, ColumnValue, Id, Name, Right};
use repository::{ColumnChange, ColumnOptions, Filter, ListRequest, RowChange, Session, Sort, Target, ValueTest};

fn entry(id: Id) -> Option<ColumnValue> {
    Some(ColumnValue::Lookup(id))
}

/// A list of projects with its title column, and three rows: *Website*, *Archive* and *Secret*, which only
/// administrators see.
async fn projects(admin: &Session) -> (Target, Id, [Id; 3]) {
    let list = admin.create_list(&at(""), &name("Projects"), &name("Project")).await.unwrap();
    let target = Target::Id(list.id);
    let title = admin.columns(&target).await.unwrap().0[0].id;
    let mut rows = [Id::NONE; 3];
    for (row, words) in rows.iter_mut().zip(["Website", "Archive", "Secret"]) {
        *row = admin.add_row(&target, vec![(title, text(words))]).await.unwrap();
    }
    admin.break_inheritance(&rows[2].into(), false).await.unwrap();
    (target, title, rows)
}

fn id_of(target: &Target) -> Id {
    match target {
        Target::Id(id) => *id,
        Target::Path(_) => Id::NONE,
    }
}

async fn member(farm: &Farm) -> Session {
    with_rights(farm, "member", "", &[Right::View, Right::ViewVersions, Right::Add, Right::Edit]).await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_takes_entries_that_its_user_may_open() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (projects, project_title, [website, archive, secret]) = projects(&admin).await;
        let (tasks, title) = new_list(&admin).await;
        let project = column(&admin, &tasks, "Project", ColumnKind::Lookup(id_of(&projects))).await;
        let member = member(&farm).await;
        let add = |id| RowChange::Add { set: vec![(title, text("t")), (project, entry(id))] };
        let task = member.add_row(&tasks, vec![(title, text("Design")), (project, entry(website))]).await.unwrap();
        // What is hidden, what is elsewhere and what does not exist are refused with the same words.
        let mut refusals = Vec::new();
        for id in [secret, task, id_of(&projects), Id::new(77)] {
            let outcomes = change(&member, &tasks, vec![add(id)]).await;
            assert_eq!(code(&outcomes[0]), Some(Code::InvalidValue));
            refusals.push(outcomes[0].error.as_ref().unwrap().message().to_owned());
            let refused = set(&member, task, project, entry(id)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidValue);
            refusals.push(refused.message().to_owned());
        }
        assert!(refusals.iter().all(|refusal| *refusal == refusals[0]), "{refusals:?}");
        // Documents have such columns too.
        let document = put(&member, "Documents/a.txt", "a").await.unwrap().id;
        let of_documents = column(&admin, &at("Documents"), "Project", ColumnKind::Lookup(id_of(&projects))).await;
        set(&member, document, of_documents, entry(archive)).await.unwrap();
        assert_eq!(set(&member, document, of_documents, entry(secret)).await.unwrap_err().code(), Code::InvalidValue);
        // An entry that somebody may not open stays where it is while they change the rest.
        set(&admin, task, project, entry(secret)).await.unwrap();
        set(&member, task, title, text("Design it")).await.unwrap();
        set(&member, task, project, entry(secret)).await.unwrap();
        assert_eq!(value(&member, task, project).await, entry(secret));
        for (session, sees) in [(&admin, true), (&member, false)] {
            let names = session.value_names(&tasks, &[&ColumnValue::Lookup(secret)]).await.unwrap();
            assert_eq!(names.entries.contains_key(&secret), sees);
        }
        // A deleted entry has no name until it comes back.
        set(&admin, task, project, entry(website)).await.unwrap();
        let named = async || admin.value_names(&tasks, &[&ColumnValue::Lookup(website)]).await.unwrap().entries;
        assert_eq!(named().await[&website].typed(), "Website (1)");
        let bin = admin.delete(&website.into()).await.unwrap();
        assert!(named().await.is_empty());
        set(&member, task, project, entry(website)).await.unwrap();
        assert_eq!(code(&change(&member, &tasks, vec![add(website)]).await[0]), Some(Code::InvalidValue));
        let collection = admin.item(&tasks).await.unwrap().collection_id;
        admin.restore(collection, bin).await.unwrap();
        set(&admin, website, project_title, text("Web")).await.unwrap();
        assert_eq!(named().await[&website].title, "Web");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_found_by_what_is_typed() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (projects, title, [website, archive, secret]) = projects(&admin).await;
        let (list, member) = (id_of(&projects), member(&farm).await);
        for (typed, wanted) in [
            ("Website", Ok(website)),
            (" WEBSITE ", Ok(website)),
            ("#2", Ok(archive)),
            ("2", Ok(archive)),
            ("Archive (2)", Ok(archive)),
            ("Archive (1)", Err(Code::UnknownEntry)),
            ("Nothing", Err(Code::UnknownEntry)),
            ("", Err(Code::UnknownEntry)),
            ("#", Err(Code::UnknownEntry)),
            ("Secret", Err(Code::UnknownEntry)),
            ("#3", Err(Code::UnknownEntry)),
            ("Secret (3)", Err(Code::UnknownEntry)),
            ("id:77", Ok(Id::new(77))),
            ("(77)", Err(Code::UnknownEntry)),
        ] {
            assert_eq!(member.find_entry(list, typed).await.map_err(|error| error.code()), wanted, "{typed}");
        }
        assert_eq!(admin.find_entry(list, "secret").await.unwrap(), secret);
        let again = admin.add_row(&projects, vec![(title, text("website"))]).await.unwrap();
        assert_eq!(member.find_entry(list, "Website").await.unwrap_err().code(), Code::AmbiguousEntry);
        assert_eq!(member.find_entry(list, "Website (4)").await.unwrap(), again);
        // An entry with the title that forms show for another one takes no value over.
        let thief = admin.add_row(&projects, vec![(title, text("Website (1)"))]).await.unwrap();
        assert_eq!(member.find_entry(list, "Website (1)").await.unwrap(), website);
        assert_eq!(member.find_entry(list, "Website (1) (5)").await.unwrap(), thief);
        // One whose title cannot be seen stands by its number.
        let blank = admin.add_row(&projects, vec![(title, text(" "))]).await.unwrap();
        let names = member.value_names(&projects, &[&ColumnValue::Lookup(blank)]).await.unwrap();
        assert_eq!(names.typed_entry(blank), "6 (6)");
        assert_eq!(member.find_entry(list, "6 (6)").await.unwrap(), blank);
        assert_eq!(names.typed_entry(Id::new(77)), "id:77");
        // Titles that look like numbers, and that are alike at the beginning, are told apart.
        let odd = admin.add_row(&projects, vec![(title, text("2"))]).await.unwrap();
        assert_eq!(member.find_entry(list, "2").await.unwrap(), odd);
        assert_eq!(member.find_entry(list, "#2").await.unwrap(), archive);
        let long = "x".repeat(150);
        let first = admin.add_row(&projects, vec![(title, text(&format!("{long}a")))]).await.unwrap();
        admin.add_row(&projects, vec![(title, text(&format!("{long}b")))]).await.unwrap();
        assert_eq!(member.find_entry(list, &format!("{long}A")).await.unwrap(), first);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_sorted_and_filtered_by_entries() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (projects, _, [website, archive, secret]) = projects(&admin).await;
        let (tasks, title) = new_list(&admin).await;
        let project = column(&admin, &tasks, "Project", ColumnKind::Lookup(id_of(&projects))).await;
        for (words, id) in [("w", Some(website)), ("none", None), ("a", Some(archive)), ("s", Some(secret))] {
            admin.add_row(&tasks, vec![(title, text(words)), (project, id.map(ColumnValue::Lookup))]).await.unwrap();
        }
        let member = member(&farm).await;
        let sorted = ListRequest { sort: Sort::Column(project), ..ListRequest::default() };
        for limit in [1, 9] {
            assert_eq!(titles(&admin, &tasks, &sorted, limit).await, ["a", "s", "w", "none"]);
            // The order does not tell what an entry is called.
            assert_eq!(titles(&member, &tasks, &sorted, limit).await, ["a", "w", "s", "none"]);
        }
        let values = vec![(project, ValueTest::Is(ColumnValue::Lookup(archive)))];
        let filtered = ListRequest { filter: Filter { values, ..Filter::default() }, ..ListRequest::default() };
        assert_eq!(titles(&member, &tasks, &filtered, 9).await, ["a"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_column_has_a_list_of_its_site_collection() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (projects, ..) = projects(&admin).await;
        let (tasks, _) = new_list(&admin).await;
        let of = |label: &str, list: Id| ColumnChange {
            name: Name::new(label).unwrap(),
            kind: ColumnKind::Lookup(list),
            required: false,
            content_type_id: None,
            options: ColumnOptions::default(),
        };
        let documents = admin.item(&at("Documents")).await.unwrap().id;
        for wrong in [documents, Id::new(77)] {
            let refused = admin.create_column(&tasks, of("Wrong", wrong)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidValue);
        }
        let first = admin.create_column(&tasks, of("First", id_of(&projects))).await.unwrap();
        assert!(admin.change_column(&tasks, first, of("First", id_of(&tasks))).await.is_err());
        admin.change_column(&tasks, first, of("Renamed", id_of(&projects))).await.unwrap();
        // A list can name its own rows.
        admin.create_column(&tasks, of("After", id_of(&tasks))).await.unwrap();
        for number in 2..8 {
            admin.create_column(&tasks, of(&format!("c{number}"), id_of(&projects))).await.unwrap();
        }
        let refused = admin.create_column(&tasks, of("Ninth", id_of(&projects))).await.unwrap_err();
        assert_eq!(refused.code(), Code::TooMany);
        let options = ColumnOptions { formula: "[Renamed]".to_owned(), ..ColumnOptions::default() };
        let other = admin.create_list(&at(""), &name("Other"), &name("T")).await.unwrap().id;
        admin.create_column(&other.into(), of("Renamed", id_of(&projects))).await.unwrap();
        let calculated = ColumnChange { options, ..of("Calculated", id_of(&tasks)) };
        let refused = admin.create_column(&other.into(), calculated).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidFormula);
        // Lists that its maker may not open cannot be named.
        admin.break_inheritance(&projects, false).await.unwrap();
        let rights = [Right::View, Right::ManageLibraries];
        let (_, maker) = with_rights(&farm, "maker", "", &rights).await;
        let refused = maker.create_column(&other.into(), of("Hidden", id_of(&projects))).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidValue);
    })
    .await;
}
