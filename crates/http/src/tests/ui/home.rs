//! The start page.

use repository::{NewAccount, Target};

use super::*;

#[tokio::test]
async fn a_new_farm_welcomes_its_administrator_until_there_is_a_document() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let page = browser.get("/").await.expect(200);
    assert!(page.text.contains("Welcome to your new farm"));
    assert!(page.text.contains("strongroom import FOLDER Documents"));
    assert!(page.text.contains("class=\"tile\" href=\"/browse/Documents\""), "{}", page.text);
    assert_eq!(page.text.matches("role=\"search\"").count(), 1);
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap();
    browser.upload(&format!("/items/{}/upload", library.id), "Plan.txt", "text/plain", "x").await.expect(303);
    let page = browser.get("/").await.expect(200);
    assert!(!page.text.contains("Welcome to your new farm"));
    assert!(page.text.contains("/browse/Documents/Plan.txt"));
    assert!(!page.text.contains("Checked out by me"));
    let item = farm.administrator().await.item(&Target::path("Documents/Plan.txt").unwrap()).await.unwrap();
    browser.post("/account", &format!("/items/{}/check-out", item.id), &[]).await.expect(303);
    assert!(browser.get("/").await.expect(200).text.contains("Checked out by me"));
}

#[tokio::test]
async fn who_may_open_nothing_is_told_what_to_do() {
    let farm = Farm::new().await;
    let new = NewAccount {
        login: "berta".into(),
        display_name: "Berta".into(),
        password: Some(PASSWORD.into()),
        ..NewAccount::default()
    };
    farm.administrator().await.create_account(new).await.unwrap();
    let browser = farm.signed_in("berta").await;
    for page in ["/", "/sites"] {
        let page = browser.get(page).await.expect(200);
        assert!(page.text.contains("No site is shared with you yet"), "{}", page.text);
        assert!(!page.text.contains("Documents"), "{}", page.text);
        assert!(!page.text.contains("/browse"), "{}", page.text);
    }
}
