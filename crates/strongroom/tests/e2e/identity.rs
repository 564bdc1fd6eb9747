//! Authentication on the real server: clients that guess passwords, tokens with limited scopes, and expired proofs of a
//! sign-in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Browser, Farm, PASSWORD, Server};

const GUESSES: usize = 10_000;
const STRANGERS: usize = 1_000;

/// A browser at this address, as reported by the proxy.
fn browser(server: &Server, address: &str) -> Browser {
    let mut browser = Browser::at(&server.address);
    browser.fields = vec![("x-forwarded-for".to_owned(), address.to_owned())];
    browser
}

/// Sends all password guesses, from many addresses. Counts the guesses that were tried, and the responses that are
/// neither a wrong password nor a refusal.
async fn guess(server: &Server, odd: Arc<AtomicUsize>, tried: Arc<AtomicUsize>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let (url, next) = (format!("{}/api/v1/me", server.address), Arc::new(AtomicUsize::new(0)));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (http, url, next) = (http.clone(), url.clone(), next.clone());
        let (odd, tried) = (odd.clone(), tried.clone());
        workers.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= GUESSES {
                    return;
                }
                let from = format!("198.18.{}.{}", n % STRANGERS / 250, n % 250 + 1);
                let request = http.get(&url).basic_auth("admin", Some(format!("guess number {n}")));
                let status = request.header("x-forwarded-for", from).send().await.unwrap().status();
                match status {
                    StatusCode::UNAUTHORIZED => tried.fetch_add(1, Ordering::Relaxed),
                    StatusCode::TOO_MANY_REQUESTS => 0,
                    _ => odd.fetch_add(1, Ordering::Relaxed),
                };
            }
        });
    }
    workers.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_guess_lock_nobody_out() {
    let farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    let settings = "trusted_proxies = '127.0.0.1'\nclient_address = 'x-forwarded-for'\nbehind_tls_proxy = true\n";
    std::fs::write(farm.data.join("strongroom.toml"), settings).unwrap();
    let server = farm.start();
    let mut person = browser(&server, "203.0.113.1");
    assert_eq!(person.sign_in("admin", PASSWORD).await.location, "/");
    let (odd, tried) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let guessing = guess(&server, odd.clone(), tried.clone());
    let signing = async {
        for n in 0..10 {
            // The session cookie is gone, as when a browser is closed, but the device stays recognised from any
            // address.
            person.forget("__Host-strongroom_session");
            person.fields[0].1 = format!("203.0.113.{n}");
            let page = person.sign_in("admin", PASSWORD).await;
            assert_eq!(page.location, "/", "sign-in {n}: {} {}", page.status, page.text);
        }
    };
    tokio::join!(guessing, signing);
    assert_eq!(odd.load(Ordering::Relaxed), 0, "each guess is wrong or refused");
    let tried = tried.load(Ordering::Relaxed);
    // The budget is 100 per hour, plus one for each 36 seconds of the test.
    assert!((50..200).contains(&tried), "{tried} guesses were tried");

    // A restart does not reset the budget, and the known device is still recognised.
    assert!(server.stop().success());
    let server = farm.start();
    let refused = browser(&server, "203.0.113.99").sign_in("admin", PASSWORD).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.text);
    let mut again = browser(&server, "203.0.113.99");
    again.take_cookies(&person);
    again.forget("__Host-strongroom_session");
    assert_eq!(again.sign_in("admin", PASSWORD).await.location, "/");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_does_what_it_is_for_and_nothing_else_by_each_protocol() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let all = server.client(&farm.token());
    for path in ["inside/a.txt", "canary/b.txt"] {
        let stored = all.send(Method::PUT, &format!("/api/v1/content/Documents/{path}"), b"text".to_vec()).await;
        let stored = stored.unwrap();
        assert!(stored.status.is_success(), "{}", stored.text());
    }
    let words = ["user", "token", "create", "admin", "reader", "--scope", "read", "--place", "Documents/inside"];
    let made = farm.json(&words);
    assert_eq!((&made["scopes"], made["places"].as_array().unwrap().len()), (&json!(["read"]), 1));
    let reader = server.client(made["secret"].as_str().unwrap());
    let ask = async |method: &str, path: &str| {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        reader.send(method, path, Vec::new()).await.unwrap()
    };
    assert_eq!(ask("GET", "/api/v1/content/Documents/inside/a.txt").await.status, StatusCode::OK);
    for (method, path, status) in [
        ("GET", "/api/v1/content/Documents/canary/b.txt", 404),
        ("GET", "/api/v1/items/by-path?path=Documents", 404),
        ("GET", "/api/v1/site-collections", 200),
        ("GET", "/api/v1/search?q=canary", 200),
        ("GET", "/api/v1/users", 403),
        ("PUT", "/api/v1/content/Documents/inside/c.txt", 403),
        ("DELETE", "/api/v1/content/Documents/inside/a.txt", 403),
        ("PUT", "/api/v1/me/preferences", 403),
        ("GET", "/dav/Documents/inside/a.txt", 200),
        ("PROPFIND", "/dav/Documents/", 404),
        ("PROPFIND", "/dav/Documents/canary/", 404),
        ("DELETE", "/dav/Documents/inside/a.txt", 403),
        ("MKCOL", "/dav/Documents/inside/new", 403),
        ("LOCK", "/dav/Documents/inside/a.txt", 403),
    ] {
        let answer = ask(method, path).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text());
        // An error names the requested path and nothing else.
        let told = answer.text().replace(path.trim_start_matches("/api/v1/content/"), "");
        assert!(!told.contains("b.txt"), "{method} {path} tells of what is outside: {}", answer.text());
    }
    // Even a token with all scopes cannot create tokens; a sign-in with the password can.
    let me: Value =
        serde_json::from_slice(&all.send(Method::GET, "/api/v1/me", Vec::new()).await.unwrap().body).unwrap();
    let tokens = format!("/api/v1/users/{}/tokens", me["user"]["id"].as_str().or(me["id"].as_str()).unwrap());
    let wish = json!({ "name": "more", "scopes": ["read"] });
    let minted = all.send_json(Method::POST, &tokens, &wish).await.unwrap();
    assert_eq!(minted.status, StatusCode::FORBIDDEN);
    assert!(minted.text().contains("fresh_sign_in_needed"), "{}", minted.text());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http.post(format!("{}{tokens}", server.address)).basic_auth("admin", Some(PASSWORD)).json(&wish);
    let made = request.send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let listed = all.send(Method::GET, &tokens, Vec::new()).await.unwrap();
    assert_eq!(listed.text().matches("\"made_before_scopes\":false").count(), 3, "{}", listed.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_ask_in_place_for_a_fresh_proof() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let mut person = Browser::at(&server.address);
    assert_eq!(person.sign_in("admin", PASSWORD).await.location, "/");
    let form = person.get("/account/tokens").await;
    assert_eq!(form.status, StatusCode::OK);
    // Ages the proof of the sign-in by an hour. The rest of the session stays recent.
    let database = rusqlite::Connection::open(farm.data.join("configuration.sqlite")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    let age = || database.execute("UPDATE web_session SET proved_at = proved_at - 3600000000", []).unwrap();
    assert_eq!(age(), 1);
    let fields = [("name", "robot"), ("days", "30"), ("scope", "read")];
    let asked = person.post(&form, "/account/tokens", &fields).await;
    assert!(asked.status == StatusCode::FORBIDDEN, "{}", asked.text);
    assert!(asked.text.contains("/account/confirm"), "{}", asked.text);
    let value = |name: &str| {
        let (_, rest) = asked.text.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        rest.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
    };
    let (resend, to) = (value("resend"), value("resend_to"));
    let kept = [("next", "/account"), ("resend", resend.as_str()), ("resend_to", to.as_str())];
    let wrong = [&kept[..], &[("password", "a wrong password")]].concat();
    let wrong = person.post(&asked, "/account/confirm", &wrong).await;
    assert!(wrong.status == StatusCode::FORBIDDEN, "{}", wrong.text);
    assert!(wrong.text.contains("/account/confirm"), "{}", wrong.text);
    let right = [&kept[..], &[("password", PASSWORD)]].concat();
    let again = person.post(&asked, "/account/confirm", &right).await;
    assert!(again.text.contains("action=\"/account/tokens\""), "{}", again.text);
    assert!(again.text.contains("robot"), "{}", again.text);
    let made = person.post(&again, "/account/tokens", &fields).await;
    assert!(made.text.contains("srt_"), "{}", made.text);
    // A page that was opened without a form leads back to itself.
    assert_eq!(age(), 1);
    let asked = person.get("/account/tokens").await;
    let back = person.post(&asked, "/account/confirm", &[("next", "/account/tokens"), ("password", PASSWORD)]).await;
    assert_eq!(back.location, "/account/tokens");
}
