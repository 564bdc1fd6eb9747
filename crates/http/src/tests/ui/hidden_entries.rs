//! A value that is an entry which its reader may not open: no page, file or search gives it away.

use model::{ColumnKind, ColumnValue, Name, Role};
use repository::{ColumnChange, ColumnOptions, NewAccount, Target};

use super::*;

/// Title of the entry.
const CANARY: &str = "canary";

#[tokio::test]
async fn a_hidden_entry_is_hidden_wherever_it_is_a_value() {
    let farm = Farm::new().await;
    let admin = farm.administrator().await;
    let name = |text: &str| Name::new(text).unwrap();
    let root = Target::path("").unwrap();
    let projects = admin.create_list(&root, &name("Projects"), &name("Project")).await.unwrap().id;
    let title = admin.columns(&projects.into()).await.unwrap().0[0].id;
    let set = vec![(title, Some(ColumnValue::Text(CANARY.to_owned())))];
    let entry = admin.add_row(&projects.into(), set).await.unwrap();
    admin.break_inheritance(&entry.into(), false).await.unwrap();
    let tasks = admin.create_list(&root, &name("Tasks"), &name("Task")).await.unwrap().id;
    let task_title = admin.columns(&tasks.into()).await.unwrap().0[0].id;
    let change = ColumnChange {
        name: name("Project"),
        kind: ColumnKind::Lookup(projects),
        required: false,
        content_type_id: None,
        options: ColumnOptions::default(),
    };
    let project = admin.create_column(&tasks.into(), change).await.unwrap();
    let set =
        vec![(task_title, Some(ColumnValue::Text("Design".to_owned()))), (project, Some(ColumnValue::Lookup(entry)))];
    let task = admin.add_row(&tasks.into(), set).await.unwrap();
    let new = NewAccount {
        login: "ben".to_owned(),
        display_name: "Ben".to_owned(),
        password: Some(PASSWORD.to_owned()),
        ..NewAccount::default()
    };
    let ben = admin.create_account(new).await.unwrap().id;
    admin.grant(&root, ben, Role::CONTRIBUTE).await.unwrap();

    let (ben, admin) = (farm.signed_in("ben").await, farm.signed_in("admin").await);
    let pages = [
        "/browse/Tasks".to_owned(),
        "/browse/Tasks?as=grid".to_owned(),
        format!("/browse/Tasks?sort={project}&group=yes"),
        format!("/browse/Tasks?sort={project}&totals={project}:count"),
        "/browse/Tasks/1".to_owned(),
        format!("/items/{task}/values"),
        format!("/items/{tasks}/grid"),
        format!("/items/{tasks}/rows.csv"),
        "/browse/Projects".to_owned(),
        format!("/items/{projects}/rows.csv"),
        "/".to_owned(),
    ];
    for page in &pages {
        let seen = ben.get(page).await.expect(200).text.replace(&format!("value=\"{CANARY}\""), "");
        assert!(!seen.contains(CANARY), "{page}: {seen}");
    }
    // The administrator sees it on those pages that show values, so the test would notice it.
    for page in &pages[..8] {
        assert!(admin.get(page).await.expect(200).text.contains(CANARY), "{page}");
    }
    // Conditions tell no more of it than of an entry that does not exist, neither by title nor by number.
    let shown = async |browser: &Browser<'_>, typed: &str| {
        let page = browser.get(&format!("/browse/Tasks?f-{project}={typed}")).await.expect(200).text;
        (page.contains("Design"), page.matches(typed).count(), page.contains("class=\"note warn"))
    };
    for (hidden, absent) in [(CANARY, "nobody"), ("%231", "%239")] {
        assert_eq!(shown(&ben, hidden).await, shown(&ben, absent).await, "{hidden}");
        assert_ne!(shown(&admin, hidden).await, shown(&admin, absent).await, "{hidden}");
    }
}
