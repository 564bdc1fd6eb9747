//! Forbidden passwords, with the real program.

use database::Engine;
use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Browser, Farm, PASSWORD};

/// SHA-1 hashes of "correct horse battery", the password of the tests, and of "seven wet umbrellas", sorted, in the
/// format of files of leaked passwords.
const LEAKED: &str = "98DECC62ECE399A22ED30D490EF333BE7FDE7385:12\nC34C5A0B9C9EF6B03781384AD658F1A94FB504D0:7\n";

const NEW: &str = "nine dry parasols in rain";

fn basic(password: &str) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(format!("admin:{password}"));
    format!("Basic {text}")
}

async fn listed_passwords_are_changed(engine: Engine) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("leaked.txt");
    let import = || farm.run(&["passwords", "import", file.to_str().unwrap()]);

    let mut lines: Vec<&str> = LEAKED.lines().collect();
    lines.reverse();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let refused = import().unwrap_err().output;
    assert!(refused.contains("line 2"), "{refused}");
    assert!(refused.contains("sort the file"), "{refused}");
    std::fs::write(&file, "a4f49cb2a1b6b4f5d4d6d3b4a5f1b2c3\n").unwrap();
    assert!(import().unwrap_err().output.contains("40 hexadecimal digits"));
    std::fs::write(&file, "").unwrap();
    assert!(import().unwrap_err().output.contains("holds no SHA-1 sums"));
    assert_eq!(farm.json(&["passwords", "show"])["entries"], 0, "what is refused leaves no list");

    std::fs::write(&file, LEAKED).unwrap();
    assert_eq!(farm.json(&["passwords", "import", file.to_str().unwrap()])["entries"], 2);
    // The previously valid password now only permits choosing a new one.
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let me = format!("{}/api/v1/me", server.address);
    let by_basic = async |password: &str| {
        let answer = http.get(&me).header("authorization", basic(password)).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    let (status, said) = by_basic(PASSWORD).await;
    assert!(status == StatusCode::FORBIDDEN, "{status} {said}");
    assert!(said.contains("leaked_password"), "{status} {said}");
    let mut browser = Browser::at(&server.address);
    let form = browser.sign_in("admin", PASSWORD).await;
    assert!(form.status == StatusCode::FORBIDDEN, "{form:?}");
    assert!(form.text.contains("new_password"), "{form:?}");
    assert!(form.text.contains("Type it again, and choose a new one below."), "{form:?}");
    assert!(browser.cookie("strongroom_session").is_none(), "no session began");
    let change = [("login", "admin"), ("password", PASSWORD), ("new_password", "seven wet umbrellas"), ("next", "/")];
    let again = browser.post(&form, "/sign-in", &change).await;
    assert!(again.status.is_client_error(), "another listed one is no better: {}", again.text);
    assert!(again.text.contains("new_password"), "another listed one is no better: {}", again.text);
    let wrong = [("login", "admin"), ("password", "wrong horse battery"), ("new_password", NEW), ("next", "/")];
    assert_eq!(browser.post(&again, "/sign-in", &wrong).await.status, StatusCode::UNAUTHORIZED);
    let change = [("login", "admin"), ("password", PASSWORD), ("new_password", NEW), ("next", "/")];
    assert_eq!(browser.post(&again, "/sign-in", &change).await.location, "/");
    assert_eq!(by_basic(NEW).await.0, StatusCode::OK);
    assert_eq!(by_basic(PASSWORD).await.0, StatusCode::UNAUTHORIZED);

    // A valid password that is not on the list cannot be changed through the sign-in form.
    let mut other = Browser::at(&server.address);
    let form = other.get("/sign-in").await;
    let change = [("login", "admin"), ("password", NEW), ("new_password", PASSWORD), ("next", "/")];
    assert_eq!(other.post(&form, "/sign-in", &change).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(by_basic(NEW).await.0, StatusCode::OK);

    // An administrator cannot give a listed password to others either.
    let users = format!("{}/api/v1/users", server.address);
    let anna = json!({ "login": "anna", "password": "seven wet umbrellas" });
    let add_anna = async || {
        let request = http.post(&users).header("authorization", basic(NEW)).json(&anna);
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    let (status, said) = add_anna().await;
    assert!(status.is_client_error(), "{status} {said}");
    assert!(said.contains("listed_password"), "{status} {said}");
    assert!(said.contains("choose another one"), "{said}");
    assert!(!said.contains("sign in"), "{said}");
    farm.json(&["passwords", "remove"]);
    let (status, said) = add_anna().await;
    assert_eq!(status, StatusCode::CREATED, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_passwords_are_changed_on_sqlite() {
    listed_passwords_are_changed(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_passwords_are_changed_on_postgres() {
    listed_passwords_are_changed(Engine::Postgres).await;
}
