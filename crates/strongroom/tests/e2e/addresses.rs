//! The client address behind proxies and without them, and the public address of the server.

use std::io::{Read, Write};
use std::net::TcpStream;

use database::Engine;
use reqwest::StatusCode;
use serde_json::Value;

use crate::support::{Browser, Farm, PASSWORD, Server};

/// Starts a server with these lines in its settings file.
async fn start(settings: &str) -> (Farm, Server) {
    let farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    std::fs::write(farm.data.join("strongroom.toml"), settings).unwrap();
    let server = farm.start();
    (farm, server)
}

/// Details of the failed sign-ins in the audit log, newest first.
async fn failures(farm: &Farm, server: &Server) -> Vec<String> {
    let client = server.client(&farm.token());
    let path = "/api/v1/farm/audit-log?action=sign-in.failure";
    let answer = client.send(reqwest::Method::GET, path, Vec::new()).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let log: Value = serde_json::from_slice(&answer.body).unwrap();
    let details = log["items"].as_array().unwrap().iter().map(|event| event["detail"].as_str().unwrap().to_owned());
    details.collect()
}

fn basic(server: &Server, password: &str, fields: &[(&str, &str)]) -> impl Future<Output = reqwest::Response> {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = http.get(format!("{}/api/v1/me", server.address)).basic_auth("admin", Some(password));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    async { request.send().await.unwrap() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clients_address_counts_behind_a_trusted_proxy_and_nobody_can_choose_it() {
    let settings =
        "trusted_proxies = ['127.0.0.1', '10.0.0.0/8']\nclient_address = 'x-forwarded-for'\nbehind_tls_proxy = true\n";
    let (farm, server) = start(settings).await;
    for n in 0..8 {
        // The leftmost address is made up by the client. A client that could choose its own address would never be
        // throttled.
        let chain = format!("198.51.100.{n}, 203.0.113.7, 10.0.0.{n}");
        let answer = basic(&server, "a wrong password", &[("x-forwarded-for", &chain)]).await;
        let expected = if n < 5 { StatusCode::UNAUTHORIZED } else { StatusCode::TOO_MANY_REQUESTS };
        assert_eq!(answer.status(), expected, "guess {n}");
    }
    assert_eq!(failures(&farm, &server).await, ["203.0.113.7"; 5]);
    // Another client behind the same proxy is not throttled.
    let answer = basic(&server, PASSWORD, &[("x-forwarded-for", "203.0.113.8")]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    // The proxy reports that the client used plain HTTP, and a password sent that way is refused.
    let plain = basic(&server, PASSWORD, &[("x-forwarded-for", "203.0.113.8"), ("x-forwarded-proto", "http")]).await;
    assert_eq!(plain.status(), StatusCode::FORBIDDEN);
    let named = basic(&server, PASSWORD, &[("x-forwarded-for", "203.0.113.8"), ("x-request-id", "abcdef-123")]).await;
    assert_eq!(named.headers()["x-request-id"], "abcdef-123");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_say_of_themselves_is_worth_nothing() {
    let (farm, server) = start("trusted_proxies = '10.0.0.1'\nclient_address = 'forwarded'\n").await;
    let fields = [("forwarded", "for=203.0.113.7;proto=https;host=evil.example"), ("x-request-id", "abcdef-123")];
    let answer = basic(&server, "a wrong password", &fields).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert_ne!(answer.headers()["x-request-id"], "abcdef-123");
    assert_eq!(failures(&farm, &server).await, ["127.0.0.1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_public_address_is_the_one_of_links_cookies_and_our_own_origin() {
    let (_farm, server) = start("public_url = 'https://documents.example.org'\nbehind_tls_proxy = true\n").await;
    let mut browser = Browser::at(&server.address);
    // An origin is not trusted merely because it matches the `Host` of the request.
    "http://evil.example".clone_into(&mut browser.origin);
    let refused = browser.sign_in("admin", PASSWORD).await;
    assert!(refused.status == StatusCode::FORBIDDEN, "{}", refused.text);
    assert!(refused.text.contains("another site"), "{}", refused.text);
    "https://documents.example.org".clone_into(&mut browser.origin);
    assert_eq!(browser.sign_in("admin", PASSWORD).await.location, "/");
    assert!(browser.cookie("__Host-strongroom_session").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_may_announce_clients_in_front_of_each_connection() {
    let exchange = |server: &Server, start: &[u8]| {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        // The Base64 value encodes `admin:wrong`.
        let request =
            "GET /api/v1/me HTTP/1.1\r\nhost: x\r\nauthorization: Basic YWRtaW46d3Jvbmc=\r\nconnection: close\r\n\r\n";
        stream.write_all(start).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A closed connection may end with a reset.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    let farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    let settings = farm.data.join("strongroom.toml");
    // The readiness probe sends no PROXY header, so the first server must not require one.
    std::fs::write(&settings, "trusted_proxies = '10.0.0.1'\nclient_address = 'proxy-protocol'\n").unwrap();
    let server = farm.start();
    let announced = "PROXY TCP4 203.0.113.7 127.0.0.1 4711 80\r\n";
    let refused = exchange(&server, announced.as_bytes());
    assert!(!refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(exchange(&server, b"").starts_with("HTTP/1.1 401"));
    assert_eq!(failures(&farm, &server).await, ["127.0.0.1"]);
    assert!(server.stop().success());

    std::fs::write(&settings, "trusted_proxies = '127.0.0.1'\nclient_address = 'proxy-protocol'\n").unwrap();
    let mut server = farm.spawn();
    server.wait_until_it_listens();
    assert_eq!(exchange(&server, b""), "");
    assert!(exchange(&server, announced.as_bytes()).starts_with("HTTP/1.1 401"));
    let second = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x08\x7f\x00\x00\x01\x12\x67\x00\x50";
    assert!(exchange(&server, second).starts_with("HTTP/1.1 401"));
    server.kill();
    std::fs::write(&settings, "").unwrap();
    let server = farm.start();
    assert_eq!(failures(&farm, &server).await, ["203.0.113.8", "203.0.113.7", "127.0.0.1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_a_network_works_from_there_alone() {
    let settings =
        "trusted_proxies = ['127.0.0.1', '10.0.0.0/8']\nclient_address = 'x-forwarded-for'\nbehind_tls_proxy = true\n";
    let (farm, server) = start(settings).await;
    let made = farm.json(&["user", "token", "create", "admin", "near", "--network", "203.0.113.0/24"]);
    let token = made["secret"].as_str().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (chain, expected) in [
        ("203.0.113.7", StatusCode::OK),
        ("198.51.100.1, 203.0.113.7, 10.0.0.2", StatusCode::OK),
        ("198.51.100.1", StatusCode::UNAUTHORIZED),
        // The leftmost address is the client's own claim.
        ("203.0.113.7, 198.51.100.1", StatusCode::UNAUTHORIZED),
    ] {
        let ask = || http.get(format!("{}/api/v1/me", server.address)).header("x-forwarded-for", chain);
        assert_eq!(ask().bearer_auth(token).send().await.unwrap().status(), expected, "{chain}");
        assert_eq!(ask().basic_auth("admin", Some(token)).send().await.unwrap().status(), expected, "{chain}");
    }
}
