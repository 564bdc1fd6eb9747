//! Texts of refusals: the missing scope, the requested path, and what to do, worded for the person who made the
//! request.

use database::Engine;
use reqwest::{Method, StatusCode};

use crate::support::{Browser, Farm, PASSWORD, Server};

/// Sends a request with a token that has these limits. Returns the status and text of the response.
async fn said(farm: &Farm, server: &Server, of: (&str, &[&str]), method: Method, path: &str) -> (StatusCode, String) {
    let (login, limits) = of;
    let name = format!("for {} {method} {path}", limits.join(" "));
    let token = farm.json(&[&["user", "token", "create", login, name.as_str()], limits].concat());
    let client = server.client(token["secret"].as_str().unwrap());
    let answer = client.send(method, path, b"text".to_vec()).await.unwrap();
    (answer.status, answer.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_for_less_hears_which_scope_it_lacks() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    farm.json(&["user", "add", "anna"]);
    let content = "/api/v1/content/Documents/a.txt";
    let (status, text) = said(&farm, &server, ("anna", &["--scope", "read"]), Method::PUT, content).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
    assert!(text.contains("write"), "{text}");
    assert!(text.contains("manage"), "{text}");
    assert!(!text.contains("farm"), "{text}");
    let of_farm = "/api/v1/farm/status";
    let (status, text) = said(&farm, &server, ("admin", &["--scope", "manage"]), Method::GET, of_farm).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
    assert!(text.contains("token_scope"), "{text}");
    assert!(text.contains("the scope farm"), "{text}");
    let (status, text) = said(&farm, &server, ("anna", &[]), Method::GET, of_farm).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
    assert!(text.contains("only an administrator of the farm"), "{text}");
    assert!(!text.contains("token_scope"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_place_that_was_asked_for() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    farm.json(&["site", "add-library", "Papers"]);
    let client = server.client(&farm.token());
    assert!(client.put("x/a.txt", b"text".to_vec()).await.unwrap().status.is_success());
    let within: (&str, &[&str]) = ("admin", &["--place", "Documents/x"]);
    for place in ["Papers/b.txt", "Nowhere/b.txt"] {
        let path = format!("/api/v1/content/{place}");
        let (status, text) = said(&farm, &server, within, Method::PUT, &path).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{text}");
        assert!(text.contains(&format!("there is nothing at \\\"{place}\\\", or you may not see it")), "{text}");
    }
    let (status, text) = said(&farm, &server, ("admin", &[]), Method::PUT, "/api/v1/content/Nowhere/y/b.txt").await;
    assert_eq!(status, StatusCode::CONFLICT, "{text}");
    assert!(text.contains("there is no library \\\"Nowhere\\\""), "{text}");

    let source = tempfile::tempdir().unwrap();
    let refused = farm.run(&["import", source.path().to_str().unwrap(), "Documents/new/y"]).unwrap_err();
    assert!(refused.output.contains("\"Documents/new/y\": create the folder first"), "{}", refused.output);
    for (target, library) in [("Nowhere", "Nowhere"), ("Nowhere/y", "Nowhere"), ("No where", "No where")] {
        let refused = farm.run(&["import", source.path().to_str().unwrap(), target]).unwrap_err();
        let word = if library.contains(' ') { format!("'{library}'") } else { library.to_owned() };
        let said = format!("no library \"{library}\": `strongroom site add-library {word}` creates it; there are: ");
        assert!(refused.output.contains(&(said + "\"Documents\", \"Papers\"")), "{}", refused.output);
    }
    assert!(farm.run(&["import", "--help"]).unwrap().contains("SITE/LIBRARY[/FOLDER]"));
    assert!(farm.run(&["user", "add", "--help"]).unwrap().contains("unless --password-stdin reads it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_fails_speaks_of_the_login() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let mut browser = Browser::at(&server.address);
    let wrong = browser.sign_in("admin", "another horse battery").await;
    assert!(wrong.text.contains("The login or the password is wrong."), "{}", wrong.text);
    assert_eq!(browser.sign_in("admin", PASSWORD).await.location, "/");
}
