//! Columns of a library: displayed in the listing, edited in a row.

use model::{ColumnKind, Name};
use repository::{ColumnChange, ColumnOptions, Target};

use super::*;

async fn made(farm: &Farm, name: &str, kind: ColumnKind) -> model::Id {
    let change = ColumnChange {
        name: Name::new(name).unwrap(),
        kind,
        required: false,
        content_type_id: None,
        options: ColumnOptions::default(),
    };
    farm.administrator().await.create_column(&Target::path("Documents").unwrap(), change).await.unwrap()
}

#[tokio::test]
async fn values_are_shown_in_the_listing_and_edited_one_by_one() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    browser.upload(&format!("/items/{library}/upload"), "Plan.txt", "text/plain", "one").await.expect(303);
    let plan = farm.administrator().await.item(&Target::path("Documents/Plan.txt").unwrap()).await.unwrap().id;
    let evil = "<img src=x onerror=alert(1)>'\"&";
    for (name, kind, typed, english) in [
        (evil, ColumnKind::Text, "a < b & c", ">a &#60; b &#38; c<"),
        ("Amount", ColumnKind::Number, "12,345.5", ">12,345.5<"),
        ("Due", ColumnKind::Date, "2026-11-03", ">3 Nov 2026<"),
        ("State", ColumnKind::Choice(vec!["new".into(), "sent".into()]), "sent", ">sent<"),
        ("Owner", ColumnKind::Person, "ADMIN", ">Administrator<"),
        ("Paid", ColumnKind::YesNo, "yes", ">Yes<"),
        ("Page", ColumnKind::Link, "https://example.org/a", "href=\"https://example.org/a\""),
    ] {
        let column = made(&farm, name, kind).await;
        let (url, field) = (format!("/items/{plan}/values/{column}"), format!("column-{column}"));
        let back = browser.post(&url, &url, &[(&field, typed)]).await.expect(303);
        assert_eq!(back.header(header::LOCATION), "/browse/Documents");
        let listing = browser.get("/browse/Documents").await.expect(200);
        assert!(listing.text.contains(english), "{name}: {}", listing.text);
        assert!(!listing.text.contains("<img src=x"));
        // A script receives the new cell.
        let token = browser.get(&url).await.form_token();
        let script = [("accept", "application/problem+json")];
        let cell = browser.post_with(&token, &url, &[(&field, "")], &script).await.expect(200);
        assert!(cell.text.contains("data-cell"), "{}", cell.text);
        assert!(!cell.text.contains(english), "{}", cell.text);
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_the_name_of_its_column() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let folder = Name::new("f").unwrap();
    let folder =
        farm.administrator().await.create_folder(&Target::path("Documents").unwrap(), &folder).await.unwrap().id;
    for (name, kind, bad) in [
        ("Amount", ColumnKind::Number, "ten"),
        ("Due", ColumnKind::Date, "tomorrow"),
        ("State", ColumnKind::Choice(vec!["new".into()]), "old"),
        ("Owner", ColumnKind::Person, "nobody of this name"),
        ("Page", ColumnKind::Link, "javascript:alert(1)"),
    ] {
        let column = made(&farm, name, kind).await;
        let (url, field) = (format!("/items/{folder}/values/{column}"), format!("column-{column}"));
        let refused = browser.post(&url, &url, &[(&field, bad)]).await.expect(400);
        assert!(refused.text.contains("role=\"alert\""));
        assert!(refused.text.contains(&format!("“{name}”")));
        assert!(refused.text.contains(&format!("value=\"{bad}\"")) || name == "State", "what was typed stays");
        let token = browser.get(&url).await.form_token();
        let script = [("accept", "application/problem+json")];
        let problem = browser.post_with(&token, &url, &[(&field, bad)], &script).await.expect(400);
        assert!(problem.text.contains(&format!("“{name}”")), "{}", problem.text);
        assert!(farm.administrator().await.values(&folder.into()).await.unwrap().is_empty());
    }
    browser.get(&format!("/items/{folder}/values/{folder}")).await.expect(404);
}
