//! Sign-in and sign-out.

use repository::Target;

use super::*;

#[tokio::test]
async fn a_session_begins_with_a_new_secret_and_ends_at_sign_out() {
    let farm = Farm::new().await;
    let browser = farm.browser();
    let asked = browser.get("/browse/Documents?sort=modified").await.expect(303);
    assert_eq!(asked.header(header::LOCATION), "/sign-in?next=%2Fbrowse%2FDocuments%3Fsort%3Dmodified");
    // A session cookie planted by an attacker is never used for the new session.
    browser.cookies.borrow_mut().insert("strongroom_session".into(), "srs_planted".into());
    let entered = browser.sign_in("admin", PASSWORD, "/browse/Documents").await.expect(303);
    assert_eq!(entered.header(header::LOCATION), "/browse/Documents");
    let field = entered
        .headers
        .get_all(header::SET_COOKIE)
        .iter()
        .find_map(|f| f.to_str().ok().filter(|f| f.contains("_session=srs")));
    let field = field.unwrap().to_owned();
    assert!(field.contains("HttpOnly"), "{field}");
    assert!(field.contains("SameSite=Lax"), "{field}");
    assert!(!field.contains("planted"), "{field}");
    let secret = browser.cookie("strongroom_session").unwrap();
    browser.get("/browse/Documents").await.expect(200);
    browser.post("/account", "/sign-out", &[]).await.expect(303);
    browser.cookies.borrow_mut().insert("strongroom_session".into(), secret);
    browser.get("/account").await.expect(303);
}

#[tokio::test]
async fn signing_in_again_ends_the_session_that_the_browser_had() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let before = browser.cookie("strongroom_session").unwrap();
    // A sign-in form without a session, submitted from another tab of the same browser.
    let visitor = farm.browser();
    let form = visitor.get("/sign-in").await.form_token();
    let mark = visitor.cookie("strongroom_visitor").unwrap();
    browser.cookies.borrow_mut().insert("strongroom_visitor".into(), mark);
    browser.post_with(&form, "/sign-in", &[("login", "admin"), ("password", PASSWORD)], &[]).await.expect(303);
    browser.get("/account").await.expect(200);
    browser.cookies.borrow_mut().insert("strongroom_session".into(), before);
    browser.get("/account").await.expect(303);
}

#[tokio::test]
async fn a_wrong_password_says_so_and_many_are_throttled() {
    let farm = Farm::new().await;
    let browser = farm.browser();
    let refused = browser.sign_in("admin", "not the password", "/").await.expect(401);
    assert!(refused.text.contains("role=\"alert\""));
    assert!(refused.text.contains("value=\"admin\""));
    let mut last = refused;
    for _ in 0..50 {
        last = browser.sign_in("admin", "not the password", "/").await;
        if last.status == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
    }
    assert_eq!(last.status, StatusCode::TOO_MANY_REQUESTS);
    // The first delay is 15 seconds, part of which has passed.
    let wait: u64 = last.header(header::RETRY_AFTER).parse().unwrap();
    assert!((1..=15).contains(&wait), "{wait}");
}

#[tokio::test]
async fn nobody_is_sent_to_another_host() {
    let farm = Farm::new().await;
    for next in ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example"] {
        let entered = farm.browser().sign_in("admin", PASSWORD, next).await.expect(303);
        assert_eq!(entered.header(header::LOCATION), "/", "{next}");
    }
}

#[tokio::test]
async fn the_language_is_the_accounts_then_the_browsers() {
    let farm = Farm::new().await;
    let browser = farm.browser();
    let german = Request::get("/sign-in").header(header::ACCEPT_LANGUAGE, "de-DE,en;q=0.5");
    let page = browser.send(german, Body::empty()).await;
    assert!(page.text.contains("lang=\"de\""));
    assert!(page.text.contains("Anmelden"));
    let browser = farm.signed_in("admin").await;
    browser.post("/account", "/account/preferences", &[("language", "de"), ("theme", "dark")]).await.expect(303);
    let page = browser.get("/account").await;
    assert!(page.text.contains("lang=\"de\" data-theme=\"dark\""));
    assert!(page.text.contains("Mein Konto"));
}

#[tokio::test]
async fn what_was_typed_survives_the_end_of_a_session() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    let old = browser.get("/account").await.form_token();
    browser.post("/account", "/sign-out", &[]).await.expect(303);
    let action = format!("/items/{library}/new-folder");
    let ended = browser.post_with(&old, &action, &[("name", "Precious <b>")], &[]).await.expect(401);
    assert!(ended.text.contains("Your session has ended"), "{}", ended.text);
    assert!(ended.text.contains("name=Precious+%3Cb%3E"), "{}", ended.text);
    let form = ended.form_token();
    let fields = [
        ("login", "admin"),
        ("password", PASSWORD),
        ("next", "/"),
        ("resend", "name=Precious+%3Cb%3E"),
        ("resend_to", action.as_str()),
    ];
    let again = browser.post_with(&form, "/sign-in", &fields, &[]).await.expect(200);
    assert!(again.text.contains(&format!("action=\"{action}\"")), "{}", again.text);
    let form = again.form_token();
    browser.post_with(&form, &action, &[("name", "Precious <b>")], &[]).await.expect(303);
    assert!(farm.administrator().await.item(&Target::path("Documents/Precious <b>").unwrap()).await.is_ok());
    // Forms are sent again to this server only.
    browser.post("/account", "/sign-out", &[]).await.expect(303);
    let form = browser.get("/sign-in").await.form_token();
    let fields = [("login", "admin"), ("password", PASSWORD), ("resend", "a=b"), ("resend_to", "//evil.example")];
    let again = browser.post_with(&form, "/sign-in", &fields, &[]).await.expect(200);
    assert!(again.text.contains("action=\"/\""), "{}", again.text);
}

#[tokio::test]
async fn what_comes_before_it_is_known_who_asks_has_one_bound() {
    let farm = Farm::new().await;
    let browser = farm.browser();
    let form = browser.get("/sign-in").await.form_token();
    let with = |length: usize| "a".repeat(length);
    let sign_in = async |length: usize| {
        let fields = [("login", "admin"), ("password", "a-wrong-password"), ("resend", &with(length))];
        browser.post_with(&form, "/sign-in", &fields, &[]).await
    };
    sign_in(48 << 10).await.expect(401);
    sign_in(64 << 10).await.expect(413);
    // Input is kept only up to the size that the sign-in form can carry along.
    let typed = async |text: String| browser.post_with("", "/items/1/new-folder", &[("name", &text)], &[]).await;
    typed(with(40 << 10)).await.expect(401);
    typed("<".repeat(15 << 10)).await.expect(413);
    typed(with(64 << 10)).await.expect(413);
}
