//! How many files the system lets the server open.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use database::Engine;

use crate::support::{Farm, Server};

/// A server for a thousand connections that was started under these limits, soft and hard.
async fn under(limits: &str) -> (Farm, Server) {
    let mut farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    std::fs::write(farm.data.join("strongroom.toml"), "connections = 1000\n").unwrap();
    farm.under = vec!["prlimit".to_owned(), format!("--nofile={limits}")];
    let server = farm.start();
    (farm, server)
}

/// The soft limit of a process.
fn soft(server: &Server) -> u64 {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Whether a connection is served rather than closed at once.
fn is_served(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut first = [0; 12];
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").is_ok()
        && stream.read_exact(&mut first).is_ok()
        && &first == b"HTTP/1.1 200"
}

#[tokio::test(flavor = "multi_thread")]
async fn the_soft_limit_rises_to_what_connections_need() {
    let (_farm, server) = under("256:4096").await;
    assert_eq!(soft(&server), 512 + 2 * 1_000);
    assert!(!server.said().contains("fewer connections"), "{}", server.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_before_files_do() {
    let (farm, server) = under("256:768").await;
    assert_eq!(soft(&server), 768);
    let said = server.said();
    assert!(said.contains("fewer connections") && said.contains("LimitNOFILE"), "{said}");
    let client = server.client(&farm.token());
    assert!(client.put("before.txt", b"before".to_vec()).await.unwrap().status.is_success());
    // As many as are let in, and more.
    let mut all: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(server.host()).unwrap()).collect();
    let served = all.iter_mut().filter_map(|stream| is_served(stream).then_some(())).count();
    assert!((100..=128).contains(&served), "{served} connections are served");
    // On a connection that was there, documents and databases can still be opened.
    for number in 0..10 {
        let path = format!("{number}.txt");
        assert!(client.put(&path, vec![7; 100_000]).await.unwrap().status.is_success());
        assert_eq!(client.get(&path).await.unwrap().body.len(), 100_000);
    }
    assert!(!server.said().contains("Too many open files"), "{}", server.said());
}
