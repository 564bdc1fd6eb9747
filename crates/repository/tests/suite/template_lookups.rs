//! Tests of lookup columns in templates: the lists and rows that they name are those of the new site; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{name, value};
use crate::support::{Farm, at, each_farm, with_rights};
use model::{Code, ColumnKind, ColumnValue, Id, Right};
use repository::{Item, NewSite, Session, Sort, Target, Template, TemplateDraft};

/// Tasks name projects, which come later, and tasks; documents name tasks.
const SITE: &str = r#"
format = 1
kind = "site"
name = "works"
title = "Works"

[[lists]]
name = "Tasks"
holds = "rows"
columns = [
  { name = "Task", kind = "text", role = "title" },
  { name = "Project", kind = "lookup", list = "Projects", required = true },
  { name = "After", kind = "lookup", list = "Tasks" },
]
rows = [
  { Task = "build", Project = 2, After = 2 },
  { Task = "plan", Project = 1 },
  { Task = "sell", Project = 2, After = 1 },
]

[[lists]]
name = "Projects"
holds = "rows"
columns = [{ name = "Project", kind = "text", role = "title" }]
rows = [{ Project = "Tower" }, { Project = "Bridge" }]

[[lists]]
name = "Files"
columns = [{ name = "Task", kind = "lookup", list = "Tasks" }]
"#;

async fn make(session: &Session, site: &str, template: &Template) -> model::Result<Item> {
    let new = NewSite { language: "en".to_owned(), ..NewSite::default() };
    session.create_site_from(&at(""), &name(site), template, new).await
}

async fn rows(session: &Session, list: &str) -> Vec<Item> {
    session.list(&at(list), Sort::Name, false, None, 100).await.unwrap().1.items
}

async fn saved(session: &Session, target: &Target) -> String {
    let draft = TemplateDraft { name: "works".into(), with_rows: true, ..TemplateDraft::default() };
    session.template_of(target, draft).await.unwrap().write()
}

async fn kinds(session: &Session, place: &str) -> Vec<(Id, ColumnKind)> {
    let columns = session.columns(&at(place)).await.unwrap().0;
    columns.into_iter().map(|column| (column.id, column.kind)).collect()
}

/// The titles of tasks with those of the project and the task that each names.
async fn picture(session: &Session, site: &str) -> Vec<[String; 3]> {
    let (tasks, projects) =
        (rows(session, &format!("{site}/Tasks")).await, rows(session, &format!("{site}/Projects")).await);
    let columns = kinds(session, &format!("{site}/Tasks")).await;
    let title_of = |value: Option<ColumnValue>| match value {
        Some(ColumnValue::Lookup(id)) => {
            let row = tasks.iter().chain(&projects).find(|row| row.id == id);
            row.map_or("elsewhere", Item::shown_name).to_owned()
        }
        _ => String::new(),
    };
    let mut found = Vec::new();
    for task in &tasks {
        let project = title_of(value(session, task.id, columns[1].0).await);
        let after = title_of(value(session, task.id, columns[2].0).await);
        found.push([task.shown_name().to_owned(), project, after]);
    }
    found
}

fn named(all: &[[&str; 3]]) -> Vec<[String; 3]> {
    all.iter().map(|one| one.map(ToOwned::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_name_the_lists_and_rows_of_the_new_site() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        make(&admin, "First", &Template::parse(SITE).unwrap()).await.unwrap();
        let all = named(&[["build", "Bridge", "plan"], ["plan", "Tower", ""], ["sell", "Bridge", "build"]]);
        assert_eq!(picture(&admin, "First").await, all);
        let again = Template::parse(&saved(&admin, &at("First")).await).unwrap();
        make(&admin, "Second", &again).await.unwrap();
        assert_eq!(picture(&admin, "Second").await, all);
        let lists = ["Tasks", "Projects"].map(|list| at(&format!("Second/{list}")));
        let [tasks, projects] = [admin.item(&lists[0]).await.unwrap().id, admin.item(&lists[1]).await.unwrap().id];
        let kinds_of = async |place| kinds(&admin, place).await.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
        let lookups = [ColumnKind::Text, ColumnKind::Lookup(projects), ColumnKind::Lookup(tasks)];
        assert_eq!(kinds_of("Second/Tasks").await, lookups);
        assert_eq!(kinds_of("Second/Files").await, [ColumnKind::Lookup(tasks)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_has_no_entries_that_its_maker_may_not_see() {
    each_farm(|farm: Farm| async move {
        let admin = farm.administrator().await;
        make(&admin, "First", &Template::parse(SITE).unwrap()).await.unwrap();
        let all = [Right::View, Right::ViewVersions, Right::ManageSite, Right::ManageLibraries, Right::Add];
        let (_, maker) = with_rights(&farm, "maker", "", &all).await;
        let hide = async |list: &str, title: &str| {
            let row = rows(&admin, list).await.into_iter().find(|row| row.shown_name() == title).unwrap();
            admin.break_inheritance(&row.id.into(), false).await.unwrap();
        };
        // The project is required, and what came after "plan" comes after nothing that the maker knows.
        hide("First/Projects", "Tower").await;
        let template = Template::parse(&saved(&maker, &at("First")).await).unwrap();
        make(&maker, "Second", &template).await.unwrap();
        assert_eq!(picture(&maker, "Second").await, named(&[["build", "Bridge", ""], ["sell", "Bridge", "build"]]));
        hide("First/Projects", "Bridge").await;
        let text = saved(&maker, &at("First")).await;
        assert!(!text.contains("build") && !text.contains("Bridge"), "{text}");
        // A list that the maker may not see takes its lookup columns along.
        let projects = admin.item(&at("First/Projects")).await.unwrap();
        admin.break_inheritance(&projects.id.into(), false).await.unwrap();
        let text = saved(&maker, &at("First")).await;
        assert!(!text.contains("Projects") && text.contains("list = \"Tasks\""), "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_names_its_own_rows_does_so_under_any_name() {
    each_farm(|farm: Farm| async move {
        let admin = farm.administrator().await;
        make(&admin, "First", &Template::parse(SITE).unwrap()).await.unwrap();
        let own = Template::parse(&saved(&admin, &at("First/Tasks")).await).unwrap();
        let jobs = admin.create_list_from(&at(""), Some(&name("Jobs")), &own, "en").await.unwrap();
        assert!(kinds(&admin, "Jobs").await.iter().any(|(_, kind)| *kind == ColumnKind::Lookup(jobs.id)));
        admin.save_template(None, own).await.unwrap();
        let site = "format = 1\nkind = \"site\"\nname = \"x\"\ntitle = \"X\"\n[[lists]]\nname = \"Errands\"\n\
            template = \"works\"\n";
        make(&admin, "Third", &Template::parse(site).unwrap()).await.unwrap();
        let errands = admin.item(&at("Third/Errands")).await.unwrap().id;
        assert!(kinds(&admin, "Third/Errands").await.iter().any(|(_, kind)| *kind == ColumnKind::Lookup(errands)));
        let rows = rows(&admin, "Third/Errands").await;
        let after = kinds(&admin, "Third/Errands").await.last().unwrap().0;
        assert_eq!(value(&admin, rows[0].id, after).await, Some(ColumnValue::Lookup(rows[1].id)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_entries_are_an_array_of_numbers() {
    each_farm(|farm: Farm| async move {
        let admin = farm.administrator().await;
        let site = SITE
            .replace("list = \"Projects\", required", "multiple = true, list = \"Projects\", required")
            .replace("{ name = \"After\", kind = \"lookup\"", "{ name = \"After\", kind = \"lookup\", multiple = true")
            .replace("Project = 2, After = 2", "Project = [2, 1], After = [3, 2]")
            .replace("Project = 1 }", "Project = [1] }")
            .replace("Project = 2, After = 1", "Project = [2], After = [1]");
        make(&admin, "First", &Template::parse(&site).unwrap()).await.unwrap();
        let titles_of = async |site: &str, row: usize, column: usize| {
            let (tasks, projects) =
                (rows(&admin, &format!("{site}/Tasks")).await, rows(&admin, &format!("{site}/Projects")).await);
            let columns = kinds(&admin, &format!("{site}/Tasks")).await;
            let found = value(&admin, tasks[row].id, columns[column].0).await.map(ColumnValue::into_each);
            let title = |value: ColumnValue| match value {
                ColumnValue::Lookup(id) => {
                    let row = tasks.iter().chain(&projects).find(|row| row.id == id);
                    row.map_or("elsewhere", Item::shown_name).to_owned()
                }
                _ => String::new(),
            };
            found.unwrap_or_default().into_iter().map(title).collect::<Vec<_>>()
        };
        let again = saved(&admin, &at("First")).await;
        assert!(again.contains("Project = [2, 1]") && again.contains("After = [3, 2]"), "{again}");
        make(&admin, "Second", &Template::parse(&again).unwrap()).await.unwrap();
        for site in ["First", "Second"] {
            assert_eq!(titles_of(site, 0, 1).await, ["Bridge", "Tower"]);
            assert_eq!(titles_of(site, 0, 2).await, ["sell", "plan"]);
            assert_eq!(titles_of(site, 1, 2).await, [] as [String; 0]);
        }
        // One entry that can be seen is enough for a row that needs one.
        let all = [Right::View, Right::ViewVersions, Right::ManageSite, Right::ManageLibraries, Right::Add];
        let (_, maker) = with_rights(&farm, "maker", "", &all).await;
        let tower = rows(&admin, "First/Projects").await.into_iter().find(|row| row.shown_name() == "Tower").unwrap();
        admin.break_inheritance(&tower.id.into(), false).await.unwrap();
        let text = saved(&maker, &at("First")).await;
        assert!(text.contains("After = [2], Project = [1]") && !text.contains("plan"), "{text}");
    })
    .await;
}

#[test]
fn lookups_of_nothing_are_refused() {
    for (from, to, why) in [
        ("list = \"Projects\"", "list = \"Project\"", "is no list of the template"),
        ("list = \"Projects\"", "list = \"Files\"", "is a library"),
        (", list = \"Projects\"", "", "needs the `list`"),
        ("Project = 2, After = 2", "Project = 3", "has no row 3"),
        ("Project = 2, After = 2", "Project = 0", "number of a row"),
        ("Project = 2, After = 2", "Project = \"Tower\"", "number of a row"),
        ("list = \"Projects\", required", "list = \"Projects\", multiple = true, required", "give it an array"),
        ("kind = \"text\", role", "kind = \"text\", multiple = true, role", "take several values"),
        ("role = \"title\" },\n", "role = \"title\", list = \"Tasks\" },\n", "only a lookup column"),
    ] {
        assert!(SITE.contains(from), "{from}");
        let refused = Template::parse(&SITE.replacen(from, to, 1)).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidTemplate);
        assert!(refused.message().contains(why), "{to}: {refused}");
    }
}
