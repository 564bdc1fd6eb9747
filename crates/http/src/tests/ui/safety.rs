//! Attacks on the pages: forged forms, framing, stored scripts, other users' items.

use model::{Name, Role};
use repository::{Destination, NewAccount, Target, UploadOptions};

use http_core::protocol::segments;

use super::*;

#[tokio::test]
async fn changes_need_the_token_and_our_own_origin() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap();
    let action = format!("/items/{}/new-folder", library.id);
    let token = browser.get(&action).await.form_token();
    let fields = [("name", "planted")];
    browser.post_with("", &action, &fields, &[]).await.expect(403);
    browser.post_with("AAAA", &action, &fields, &[]).await.expect(403);
    let other = farm.signed_in("admin").await.get(&action).await.form_token();
    browser.post_with(&other, &action, &fields, &[]).await.expect(403);
    for foreign in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        browser.post_with(&token, &action, &fields, &[foreign]).await.expect(403);
    }
    assert!(!browser.get("/browse/Documents").await.text.contains("planted"), "a refused form has changed something");
    let ours = [("origin", "http://farm.example"), ("sec-fetch-site", "same-origin")];
    browser.post_with(&token, &action, &fields, &ours).await.expect(303);
    assert!(browser.get("/browse/Documents").await.text.contains("planted"));
}

#[tokio::test]
async fn an_upload_without_the_token_stores_nothing() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap();
    let action = format!("/items/{}/upload", library.id);
    let body = "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\r\nx\r\n--cut--\r\n";
    let request = || Request::post(&action).header(header::CONTENT_TYPE, "multipart/form-data; boundary=cut");
    browser.send(request(), body).await.expect(403);
    // A body that ends in the middle of the file stores nothing.
    let token = browser.get("/account").await.form_token();
    let cut = format!(
        "--cut\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n--cut\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\r\nhalf of"
    );
    browser.send(request(), cut).await.expect(400);
    assert!(!browser.get("/browse/Documents").await.text.contains("x.txt"));
}

#[tokio::test]
async fn stored_script_is_sent_in_a_sandbox_and_never_in_place() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap();
    let script = "<script>alert(1)</script>";
    let action = format!("/items/{}/upload", library.id);
    for (name, kind) in [("a.html", "text/html"), ("a.svg", "image/svg+xml"), ("a.png", "text/html")] {
        browser.upload(&action, name, kind, script).await.expect(303);
        let item = farm.administrator().await.item(&Target::path(&format!("Documents/{name}")).unwrap()).await.unwrap();
        let sent = browser.get(&format!("/download/{}/document?show=yes", item.id)).await.expect(200);
        assert_eq!(sent.text, script);
        assert!(sent.header(header::CONTENT_SECURITY_POLICY).starts_with("sandbox; default-src 'none'"), "{name}");
        assert_eq!(sent.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        let inline = sent.header(header::CONTENT_DISPOSITION).starts_with("inline");
        assert!(!inline || sent.header(header::CONTENT_TYPE) == "image/png", "{name} is shown in place");
    }
}

#[tokio::test]
async fn names_and_comments_are_text_on_every_page() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let browser = farm.signed_in("admin").await;
    let evil = "<img src=x onerror=alert(1)>'\"&";
    let library = Target::path("Documents").unwrap();
    let folder = session.create_folder(&library, &Name::new(evil).unwrap()).await.unwrap();
    let pages = [
        "/browse/Documents".to_owned(),
        format!("/browse/{}", segments::encode_path(folder.path.split('/'))),
        format!("/items/{}", folder.id),
        format!("/items/{}/rename", folder.id),
        format!("/items/{}/delete", folder.id),
        format!("/items/{}/permissions", folder.id),
        format!("/items/{}/permissions?explain={}", folder.id, segments::encode_query(evil)),
        format!("/place?action=copy&ids={}", folder.id),
        "/browse/%3Cimg%20src=x%20onerror=alert(1)%3E".to_owned(),
    ];
    for page in pages {
        let shown = browser.get(&page).await;
        assert!(!shown.text.contains("<img src=x"), "{page}");
        assert!(shown.header(header::CONTENT_SECURITY_POLICY).contains("script-src 'self'"), "{page}");
        assert!(shown.header(header::CONTENT_SECURITY_POLICY).contains("frame-ancestors 'none'"), "{page}");
        assert_eq!(shown.header(header::CACHE_CONTROL), "no-store", "{page}");
        assert!(!shown.text.contains(" style="), "{page} has inline style or script");
        assert!(!shown.text.contains("onclick"), "{page} has inline style or script");
    }
}

#[tokio::test]
async fn a_reader_cannot_change_what_was_shared() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let new = NewAccount {
        login: "berta".into(),
        display_name: "Berta".into(),
        email: String::new(),
        password: Some(PASSWORD.into()),
        farm_administrator: false,
    };
    let berta = session.create_account(new).await.unwrap();
    let library = Target::path("Documents").unwrap();
    let folder = session.create_folder(&library, &Name::new("Shared").unwrap()).await.unwrap();
    let secret = session.create_folder(&library, &Name::new("Secret").unwrap()).await.unwrap();
    session.break_inheritance(&Target::Id(folder.id), true).await.unwrap();
    session.grant(&Target::Id(folder.id), berta.id, Role::READ).await.unwrap();
    let browser = farm.signed_in("berta").await;
    browser.get("/browse/Documents/Shared").await.expect(200);
    browser.get("/browse/Documents/Secret").await.expect(404);
    browser.get(&format!("/items/{}", secret.id)).await.expect(404);
    assert!(!browser.get("/browse/Documents").await.text.contains("Secret"));
    let inside = |action: &str| format!("/items/{}/{action}", folder.id);
    for (action, fields) in [
        (inside("new-folder"), vec![("name", "mine")]),
        (inside("rename"), vec![("name", "mine")]),
        (inside("delete"), vec![]),
        (inside("permissions/grant"), vec![("who", "berta"), ("role", "1")]),
        (inside("permissions/inherit"), vec![]),
        ("/farm/users/new".into(), vec![("login", "eve"), ("password", PASSWORD), ("administrator", "yes")]),
        (format!("/farm/users/{}", berta.id), vec![("login", "berta"), ("administrator", "yes")]),
    ] {
        let refused = browser.post("/account", &action, &fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{action}");
    }
    browser.upload(&inside("upload"), "x.txt", "text/plain", "x").await.expect(403);
    for page in ["/farm", "/farm/users", &inside("permissions")] {
        browser.get(page).await.expect(403);
    }
    // Forms that could only fail are not shown. The message names the missing right as on the permission pages.
    let destination = Destination::Path(model::NodePath::parse("Documents/Shared/a.txt").unwrap());
    let plan = session.upload_bytes(&destination, UploadOptions::default(), "x".into()).await.unwrap().id;
    let german = |path: String| Request::get(path).header(header::ACCEPT_LANGUAGE, "de");
    for (form, right, recht) in [
        (format!("/items/{plan}/replace"), "Edit", "Bearbeiten"),
        (format!("/items/{plan}/rename"), "Edit", "Bearbeiten"),
        (format!("/items/{plan}/check-in"), "Edit", "Bearbeiten"),
        (format!("/items/{plan}/discard"), "Edit", "Bearbeiten"),
        (format!("/items/{plan}/delete"), "Delete", "Löschen"),
        (format!("/items/{plan}/permissions/grant"), "Manage permissions", "Berechtigungen verwalten"),
        (format!("/place?action=move&ids={plan}"), "Delete", "Löschen"),
        (inside("upload"), "Add", "Hinzufügen"),
        (inside("new-folder"), "Add", "Hinzufügen"),
        (inside("rename"), "Edit", "Bearbeiten"),
        (inside("delete"), "Delete", "Löschen"),
        (inside("permissions"), "Manage permissions", "Berechtigungen verwalten"),
        (inside("permissions/grant"), "Manage permissions", "Berechtigungen verwalten"),
    ] {
        let page = browser.get(&form).await.expect(403);
        assert!(page.text.contains(&format!("You do not have the right “{right}” on “")), "{form}: {}", page.text);
        let page = browser.send(german(form.clone()), Body::empty()).await.expect(403);
        assert!(page.text.contains(&format!("“ nicht das Recht „{recht}“")), "{form}: {}", page.text);
    }
    browser.get(&format!("/place?action=copy&ids={plan}")).await.expect(200);
    let after = session.list(&Target::Id(folder.id), repository::Sort::Name, false, None, 10).await.unwrap();
    assert!(after.1.items.len() == 1);
    assert!(after.0.name == "Shared");
}

#[tokio::test]
async fn odd_addresses_are_refused_and_hurt_nobody() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    for (path, status) in [
        ("/browse/a%2Fb", 400),
        ("/browse/%FF", 400),
        ("/browse/%2e%2e/etc", 400),
        ("/browse/a%00b", 400),
        ("/browse/Documents?after=zzz", 400),
        ("/items/0", 400),
        ("/items/99999999999999999999", 400),
        ("/items/1/rename", 404),
        ("/nothing", 404),
        ("/place", 400),
        ("/place?action=move", 400),
        ("/bin/%FF", 400),
        ("/search?q=a&q=b", 400),
        ("/selection/move", 405),
        ("/place?action=move&ids=", 400),
        ("/bin/1", 404),
    ] {
        let reply = browser.get(path).await.expect(status);
        assert!(reply.text.contains("<!doctype html>"), "{path}");
        // All error pages show the frame of the signed-in user and a readable message.
        assert!(reply.text.contains("action=\"/sign-out\""), "{path}");
        assert!(!reply.text.contains("href=\"/sign-in"), "{path}");
        assert!(!reply.text.contains("deserialize"), "{path}: {}", reply.text);
    }
    let program = browser.send(Request::get("/selection/move"), Body::empty()).await.expect(405);
    assert_eq!(program.header(header::CONTENT_TYPE), "application/problem+json");
    let stranger = farm.browser().get("/nothing").await.expect(404);
    assert!(stranger.text.contains("href=\"/sign-in"));
    assert!(!stranger.text.contains("/sign-out"));
}
