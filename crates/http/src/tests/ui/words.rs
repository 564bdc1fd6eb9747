//! Texts of pages: refusals in the user's language, and deceptive names.

use model::Name;
use repository::{Destination, Target, UploadOptions};

use super::*;

#[tokio::test]
async fn refusals_are_in_the_language_of_the_reader_and_name_what_is_meant() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let plan = session
        .upload_bytes(
            &Destination::Path(model::NodePath::parse("Documents/Plan.txt").unwrap()),
            UploadOptions::default(),
            "x".into(),
        )
        .await
        .unwrap();
    session.create_folder(&Target::path("Documents").unwrap(), &Name::new("Angebote").unwrap()).await.unwrap();
    let browser = farm.signed_in("admin").await;
    browser.cookies.borrow_mut().insert("strongroom_language".to_owned(), "de".to_owned());
    let library = session.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    let (folder, rename) = (format!("/items/{library}/new-folder"), format!("/items/{}/rename", plan.id));
    let name = |name: &'static str| [("name", name)];
    for (action, fields, status, said) in [
        (&folder, name("Angebote"), 409, "„Angebote“ gibt es hier schon"),
        (&folder, name("a/b"), 400, "Dieser Name geht nicht"),
        (&rename, name("Angebote"), 409, "„Angebote“ gibt es hier schon"),
    ] {
        let page = browser.post(action, action, &fields).await.expect(status);
        assert!(page.text.contains(said), "{action}: {}", page.text);
    }
    let publish = format!("/items/{}/publish", plan.id);
    let page = browser.post("/account", &publish, &[]).await.expect(409);
    assert!(page.text.contains("Es gibt keinen Entwurf"), "{}", page.text);
    let page = browser.get("/browse/Nirgends").await.expect(404);
    assert!(page.text.contains("oder Sie dürfen es nicht sehen"), "{}", page.text);
    assert!(!page.text.contains("there is"), "{}", page.text);
}

#[tokio::test]
async fn a_name_that_turns_its_end_around_is_seen_to_do_so_and_is_kept() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let deceit = "invoice\u{202e}fdp.exe";
    let path = model::NodePath::from(vec![Name::new("Documents").unwrap(), Name::new(deceit).unwrap()]);
    let saved = session.upload_bytes(&Destination::Path(path), UploadOptions::default(), "x".into()).await.unwrap();
    let browser = farm.signed_in("admin").await;
    for page in ["/browse/Documents".to_owned(), format!("/items/{}", saved.id), format!("/items/{}/delete", saved.id)]
    {
        let text = browser.get(&page).await.expect(200).text;
        assert!(text.contains("invoice\u{fffd}fdp.exe"), "{page}: {text}");
        assert!(!text.contains('\u{202e}'), "{page}: {text}");
    }
    // The rename form contains the exact name.
    let rename = format!("/items/{}/rename", saved.id);
    assert!(browser.get(&rename).await.expect(200).text.contains("value=\"invoice&#8238;fdp.exe\""));
    browser.post(&rename, &rename, &[("name", deceit), ("was", deceit)]).await.expect(303);
    assert_eq!(session.item(&Target::Id(saved.id)).await.unwrap().name, deceit);
}
