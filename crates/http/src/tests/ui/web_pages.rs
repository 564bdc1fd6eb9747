//! Pages of Markdown: what cannot be saved keeps its text, and searches of a site stay in it.

use repository::{OnConflict, Target, UploadOptions};

use super::*;

async fn put(farm: &Farm, name: &str, text: Vec<u8>) -> model::Id {
    let admin = farm.administrator().await;
    let parent = admin.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    let destination = repository::Destination::Child { parent, name: model::Name::new(name).unwrap() };
    let options = UploadOptions { on_conflict: OnConflict::Replace, ..UploadOptions::default() };
    admin.upload_bytes(&destination, options, text.into()).await.unwrap().id
}

/// The tag of the version that the editor of a page was opened with.
fn base_of(editor: &str) -> String {
    let (_, rest) = editor.split_once("name=\"base\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn what_cannot_be_saved_is_shown_again_with_its_text() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    for (name, present) in
        [("Text.md", b"theirs".to_vec()), ("Long.md", vec![b'x'; 600 << 10]), ("Binary.md", b"a\0b\0c".to_vec())]
    {
        let id = put(&farm, name, b"first".to_vec()).await;
        let edit = format!("/items/{id}/edit");
        let base = base_of(&browser.get(&edit).await.expect(200).text);
        put(&farm, name, present).await;
        let form = [("text", "typed <b>text</b>"), ("comment", "why"), ("base", base.as_str()), ("do", "save")];
        let again = browser.post(&edit, &edit, &form).await.expect(412).text;
        assert!(again.contains("typed &#60;b&#62;text&#60;/b&#62;"), "{name}: {again}");
        assert!(again.contains("stays among the versions") && again.contains("value=\"why\""), "{name}: {again}");
        // The tag of the present version is there, so a second attempt is made.
        let form = [("text", "typed"), ("base", &base_of(&again)), ("do", "save")];
        browser.post(&edit, &edit, &form).await.expect(303);
        assert_eq!(browser.get(&format!("/download/{id}/document")).await.text, "typed");
    }
}

#[tokio::test]
async fn a_second_click_on_save_saves_once() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let id = put(&farm, "Twice.md", b"first".to_vec()).await;
    let edit = format!("/items/{id}/edit");
    let base = base_of(&browser.get(&edit).await.expect(200).text);
    let form = [("text", "second"), ("base", base.as_str()), ("do", "save")];
    for _ in 0..2 {
        browser.post(&edit, &edit, &form).await.expect(303);
    }
    let versions = farm.administrator().await.versions(&id.into(), None, 9).await.unwrap();
    assert_eq!(versions.items.len(), 2);
    // Another text on the same version is another change.
    let other = [("text", "third"), ("base", base.as_str()), ("do", "save")];
    browser.post(&edit, &edit, &other).await.expect(412);
}

#[tokio::test]
async fn only_texts_in_utf8_are_edited() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let id = put(&farm, "Latin.md", b"stra\xdfe".to_vec()).await;
    let page = browser.get("/browse/Documents/Latin.md").await.expect(200).text;
    assert!(page.contains("straße"), "{page}");
    browser.get(&format!("/items/{id}/edit")).await.expect(409);
}

#[tokio::test]
async fn a_search_in_a_site_stays_in_it() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let page = browser.get("/search?within=in:Documents&q=a%20OR%20b").await.expect(200).text;
    assert!(page.contains("value=\"in:Documents (a OR b)\""), "{page}");
}

#[tokio::test]
async fn only_a_page_can_be_the_home_page() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let site = farm.administrator().await.item(&Target::path("").unwrap()).await.unwrap().id;
    let (page, other) = (put(&farm, "Home.md", b"hi".to_vec()).await, put(&farm, "x.txt", b"x".to_vec()).await);
    let home = format!("/items/{site}/home-page");
    browser.post("/account", &home, &[("page", &other.to_string())]).await.expect(409);
    assert!(!browser.get("/browse?contents").await.text.contains("Home page"));
    browser.post("/account", &home, &[("page", &page.to_string())]).await.expect(303);
    assert!(browser.get("/browse").await.text.contains("<p>hi</p>"));
    assert!(browser.get("/browse?contents").await.text.contains("Home page"));
    let settings = browser.get(&format!("/items/{site}/site-settings")).await.expect(200).text;
    assert!(settings.contains("/browse/Documents/Home.md"), "{settings}");
}

#[tokio::test]
async fn a_library_that_requires_check_outs_offers_them_first() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let admin = farm.administrator().await;
    let settings = model::LibrarySettings { require_checkout: true, ..model::LibrarySettings::default() };
    let library =
        admin.create_library(&Target::path("").unwrap(), &model::Name::new("Careful").unwrap(), settings).await;
    let new = format!("/items/{}/new-page", library.unwrap().id);
    let editor = browser.post(&new, &new, &[("name", "A")]).await.expect(303);
    let editor = editor.header(header::LOCATION).to_owned();
    let base = base_of(&browser.get(&editor).await.expect(200).text);
    browser.post(&editor, &editor, &[("text", "one"), ("base", &base), ("do", "save")]).await.expect(303);
    let id = admin.item(&Target::path("Careful/A.md").unwrap()).await.unwrap().id;
    admin.check_in(&id.into(), repository::CheckIn::default()).await.unwrap();
    let page = browser.get("/browse/Careful/A.md").await.expect(200).text;
    let edit = format!("/items/{id}/edit");
    assert!(page.contains("<p>one</p>") && page.contains("check-out\"") && !page.contains(&format!("href=\"{edit}")));
    browser.get(&edit).await.expect(409);
    let check_out = format!("/items/{id}/check-out");
    let next = browser.post("/browse/Careful/A.md", &check_out, &[("next", &edit)]).await.expect(303);
    assert_eq!(next.header(header::LOCATION), edit);
    browser.get(&edit).await.expect(200);
}
