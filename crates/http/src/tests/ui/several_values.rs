//! Columns that take several values: in forms, cells, filters and grids.

use model::{ColumnKind, Id, Name};
use repository::{ColumnChange, ColumnOptions, Session, Target};
use serde_json::{Value, json};

use super::*;

const EVIL: &str = "<img src=x>; \"y\"";

async fn column(admin: &Session, list: Id, label: &str, kind: ColumnKind) -> Id {
    let change = ColumnChange {
        name: Name::new(label).unwrap(),
        kind: kind.taking_multiple(true).unwrap(),
        required: false,
        content_type_id: None,
        options: ColumnOptions::default(),
    };
    admin.create_column(&list.into(), change).await.unwrap()
}

async fn list(admin: &Session, label: &str) -> (Id, Id) {
    let name = |text: &str| Name::new(text).unwrap();
    let list = admin.create_list(&Target::path("").unwrap(), &name(label), &name("Title")).await.unwrap().id;
    (list, admin.columns(&list.into()).await.unwrap().0[0].id)
}

#[tokio::test]
async fn choices_are_ticked_and_other_values_typed() {
    let farm = Farm::new().await;
    let (admin, browser) = (farm.administrator().await, farm.signed_in("admin").await);
    let (projects, title) = list(&admin, "Projects").await;
    for name in ["Alpha; one", "Beta"] {
        let set = vec![(title, Some(model::ColumnValue::Text(name.to_owned())))];
        admin.add_row(&projects.into(), set).await.unwrap();
    }
    let (tasks, title) = list(&admin, "Tasks").await;
    let choices = ["red", EVIL, "blue"].map(str::to_owned);
    let colours = column(&admin, tasks, "Colours", ColumnKind::Choice(choices.into())).await;
    let people = column(&admin, tasks, "People", ColumnKind::Person).await;
    let parts = column(&admin, tasks, "Parts", ColumnKind::Lookup(projects)).await;
    let [title, colours, people, parts] = [title, colours, people, parts].map(|id| format!("column-{id}"));
    let form = format!("/items/{tasks}/new-row");
    let shown = browser.get(&form).await.expect(200);
    assert_eq!(shown.text.matches(&format!("type=\"checkbox\" name=\"{colours}\"")).count(), 3);
    assert!(!shown.text.contains("<img src=x") && shown.text.contains("Separate values with semicolons."));
    let fields = [(&*title, "t"), (&*colours, "blue"), (&*colours, EVIL), (&*people, "admin; ADMIN")];
    for bad in ["\"Alpha; one (1)", "Alpha", "Beta; nothing", &"Beta;".repeat(21)] {
        let refused = browser.post(&form, &form, &[&fields[..], &[(&*parts, bad)][..]].concat()).await.expect(400);
        assert!(refused.text.contains("“Parts”"), "{bad}");
        assert_eq!(refused.text.matches(" checked").count(), 2, "what was ticked stays ticked");
    }
    let good = [&fields[..], &[(&*parts, "beta; \"alpha; one\"")][..]].concat();
    browser.post(&form, &form, &good).await.expect(303);
    let row = admin.list(&tasks.into(), repository::Sort::Name, false, None, 9).await.unwrap().1.items.remove(0);
    let listing = browser.get("/browse/Tasks").await.expect(200);
    let chosen = ["blue</span><span class=\"unseen\">; </span>", ">&#60;img src=x&#62;; &#34;y&#34;</span>"];
    assert!(chosen.iter().all(|text| listing.text.contains(text)), "{}", listing.text);
    assert!(listing.text.contains(">Beta</a>; <a href="), "{}", listing.text);
    let page = browser.get(&format!("/items/{}/open", row.id)).await;
    let page = browser.get(page.header(header::LOCATION)).await.expect(200);
    assert!(page.text.contains(">Alpha; one</a>") && page.text.contains(">Beta</a>"), "{}", page.text);
    assert!(page.text.contains("<dd dir=\"auto\">Administrator</dd>"), "{}", page.text);
    // Saving the form as it is changes nothing, whatever the order of the boxes.
    let edit = format!("/items/{}/values", row.id);
    let text = browser.get(&edit).await.expect(200).text;
    assert!(text.contains("value=\"Beta (2); &#34;Alpha; one (1)&#34;\""), "{text}");
    let was = |column: &str| column.replace("column-", "was-");
    let kept = [
        (was(&title), "t"),
        (was(&colours), "blue; \"<img src=x>; \"\"y\"\"\""),
        (was(&people), "admin"),
        (was(&parts), "Beta (2); \"Alpha; one (1)\""),
        (title.clone(), "t"),
        (colours.clone(), EVIL),
        (colours.clone(), "blue"),
        (people.clone(), "admin"),
        (parts.clone(), "Beta (2); \"Alpha; one (1)\""),
    ];
    let kept: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    browser.post(&edit, &edit, &kept).await.expect(303);
    // So does saving it after one of the choices was removed, and a choice that nobody can tick any more can stay.
    let fewer = ["red", EVIL].map(str::to_owned);
    let fewer = ColumnKind::Choice(fewer.into()).taking_multiple(true).unwrap();
    let id: Id = colours.replace("column-", "").parse().unwrap();
    let change = |kind| ColumnChange {
        name: Name::new("Colours").unwrap(),
        kind,
        required: false,
        content_type_id: None,
        options: ColumnOptions::default(),
    };
    admin.change_column(&tasks.into(), id, change(fewer)).await.unwrap();
    let text = browser.get(&edit).await.expect(200).text;
    assert!(text.contains(&format!("name=\"{colours}\" value=\"blue\" checked")), "{text}");
    browser.post(&edit, &edit, &kept).await.expect(303);
    let all = ["red", EVIL, "blue"].map(str::to_owned);
    let all = ColumnKind::Choice(all.into()).taking_multiple(true).unwrap();
    admin.change_column(&tasks.into(), id, change(all)).await.unwrap();
    assert_eq!(admin.row_revisions(&row.id.into(), None, 9).await.unwrap().items.len(), 1);
    // One value is enough for a filter. Rows are not grouped by such a column.
    let id = |field: &str| field.replace("column-", "");
    for (field, typed, found) in [(&colours, "blue", true), (&colours, "red", false), (&parts, "%232", true)] {
        let filtered = browser.get(&format!("/browse/Tasks?f-{}={typed}", id(field))).await.expect(200);
        assert_eq!(filtered.text.contains(">Beta</a>"), found, "{typed}");
    }
    let grouped = browser.get(&format!("/browse/Tasks?sort={}&group=yes", id(&colours))).await.expect(200);
    assert!(!grouped.text.contains("class=\"group\""), "{}", grouped.text);
    // Separators alone are neither values nor an empty field.
    let empty = [(&*title, "t"), (&*colours, ""), (&*people, " ; "), (&*parts, "")];
    assert!(browser.post(&edit, &edit, &empty).await.expect(400).text.contains("“People”"));
}

#[tokio::test]
async fn too_many_ticks_are_refused_and_stay() {
    let farm = Farm::new().await;
    let (admin, browser) = (farm.administrator().await, farm.signed_in("admin").await);
    let (tasks, title) = list(&admin, "Tasks").await;
    let choices: Vec<String> = (0..=model::MAX_VALUES_PER_FIELD).map(|number| format!("choice {number}")).collect();
    let many = column(&admin, tasks, "Many", ColumnKind::Choice(choices.clone())).await;
    let [title, many] = [title, many].map(|id| format!("column-{id}"));
    let form = format!("/items/{tasks}/new-row");
    let mut ticked = vec![(&*title, "t")];
    ticked.extend(choices.iter().map(|choice| (&*many, &**choice)));
    let refused = browser.post(&form, &form, &ticked).await.expect(400);
    assert!(refused.text.contains("“Many”"), "{}", refused.text);
    assert_eq!(refused.text.matches(" checked").count(), choices.len());
    ticked.pop();
    browser.post(&form, &form, &ticked).await.expect(303);
}

#[tokio::test]
async fn a_grid_has_several_values_as_one_text() {
    let farm = Farm::new().await;
    let (admin, browser) = (farm.administrator().await, farm.signed_in("admin").await);
    let (tasks, title) = list(&admin, "Tasks").await;
    let choices = ["red", EVIL].map(str::to_owned);
    let colours = column(&admin, tasks, "Colours", ColumnKind::Choice(choices.into())).await;
    let change = async |set: Value| {
        let token = browser.get("/browse/Tasks?as=grid").await.form_token();
        let changes = json!({"atomic": true, "changes": [{"set": set}]}).to_string();
        let url = format!("/items/{tasks}/grid?sort=name");
        let reply = browser.post_with(&token, &url, &[("changes", &changes)], &[]).await.expect(200);
        serde_json::from_str::<Value>(&reply.text).unwrap()["outcomes"][0].clone()
    };
    let made =
        change(json!({title.to_string(): "t", colours.to_string(): "RED; \"<img src=x>; \"\"y\"\"\"; red"})).await;
    let cell = json!(["red; <img src=x>; \"y\"", "red; \"<img src=x>; \"\"y\"\"\""]);
    assert_eq!(made["row"]["cells"][1], cell, "{made}");
    for bad in ["red; none", "\"red", ";", &"red;".repeat(21), &";".repeat(10_000)] {
        let refused = change(json!({title.to_string(): "x", colours.to_string(): bad})).await;
        assert_eq!(refused["status"], 400, "{refused}");
    }
}

#[tokio::test]
async fn a_column_form_offers_several_values_where_they_are_possible() {
    let farm = Farm::new().await;
    let (admin, browser) = (farm.administrator().await, farm.signed_in("admin").await);
    let (tasks, title) = list(&admin, "Tasks").await;
    let new = format!("/items/{tasks}/columns/new");
    assert!(browser.get(&new).await.expect(200).text.contains("name=\"multiple\""));
    let title = format!("/items/{tasks}/columns/{title}");
    assert!(!browser.get(&title).await.expect(200).text.contains("name=\"multiple\""));
    let fields = |kind| [("name", "C"), ("kind", kind), ("choices", "a\nb"), ("multiple", "yes")];
    let refused = browser.post(&new, &new, &fields("text")).await.expect(400);
    assert!(refused.text.contains("take multiple values"), "{}", refused.text);
    browser.post(&new, &new, &fields("choice")).await.expect(303);
    let made = admin.columns(&tasks.into()).await.unwrap().0.remove(1);
    assert!(made.kind.takes_multiple());
    let form = format!("/items/{tasks}/columns/{}", made.id);
    let shown = browser.get(&form).await.expect(200);
    assert!(!shown.text.contains("name=\"multiple\""), "what cannot be undone is not offered: {}", shown.text);
    browser.post(&form, &form, &fields("")[..3]).await.expect(303);
    assert!(admin.columns(&tasks.into()).await.unwrap().0.remove(1).kind.takes_multiple());
}
