//! The limit on open files, and the server's handling of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use database::Engine;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;

use crate::support::{Farm, Server};

/// Starts a server for a thousand connections under these soft and hard limits.
async fn under(limits: &str) -> (Farm, Server) {
    let mut farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    std::fs::write(farm.data.join("strongroom.toml"), "connections = 1000\n").unwrap();
    farm.command_prefix = vec!["prlimit".to_owned(), format!("--nofile={limits}")];
    let server = farm.start();
    (farm, server)
}

/// The soft limit on open files of the server process.
fn soft(server: &Server) -> u64 {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Returns whether a connection is served rather than closed at once.
fn is_served(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut first = [0; 12];
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").is_ok()
        && stream.read_exact(&mut first).is_ok()
        && &first == b"HTTP/1.1 200"
}

/// Sends a request on an existing connection. A connection pool could open a second one at any time.
async fn on(
    connection: &mut SendRequest<Full<Bytes>>,
    method: &str,
    path: &str,
    token: &str,
    body: Vec<u8>,
) -> (StatusCode, Bytes) {
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1/content/Documents/{path}"))
        .header("host", "x")
        .header("authorization", format!("Bearer {token}"))
        .body(Full::from(body))
        .unwrap();
    connection.ready().await.unwrap();
    let answer = connection.send_request(request).await.unwrap();
    (answer.status(), answer.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_soft_limit_rises_to_what_connections_need() {
    let (_farm, server) = under("256:4096").await;
    assert_eq!(soft(&server), 512 + 2 * 1_000);
    assert!(!server.output().contains("fewer connections"), "{}", server.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_before_files_do() {
    let (farm, server) = under("256:768").await;
    assert_eq!(soft(&server), 768);
    let said = server.output();
    assert!(said.contains("fewer connections"), "{said}");
    assert!(said.contains("LimitNOFILE"), "{said}");
    let token = farm.token();
    let stream = tokio::net::TcpStream::connect(server.host()).await.unwrap();
    let (mut kept, driver) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(driver);
    assert!(on(&mut kept, "PUT", "before.txt", &token, b"before".to_vec()).await.0.is_success());
    // More connections than the server accepts.
    let mut all: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(server.host()).unwrap()).collect();
    let served = all.iter_mut().filter_map(|stream| is_served(stream).then_some(())).count();
    assert!((100..=128).contains(&served), "{served} connections are served");
    // On an existing connection, documents and databases can still be opened.
    for number in 0..10 {
        let path = format!("{number}.txt");
        assert!(on(&mut kept, "PUT", &path, &token, vec![7; 100_000]).await.0.is_success());
        assert_eq!(on(&mut kept, "GET", &path, &token, Vec::new()).await.1.len(), 100_000);
    }
    assert!(!server.output().contains("Too many open files"), "{}", server.output());
}
