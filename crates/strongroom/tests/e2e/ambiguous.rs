//! Requests with two conflicting body lengths. `Transfer-Encoding` takes precedence, and the connection is closed after
//! the response, so that no following bytes are taken for another request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use database::Engine;
use reqwest::StatusCode;

use crate::support::Farm;

#[tokio::test(flavor = "multi_thread")]
async fn a_length_beside_a_transfer_coding_smuggles_nothing() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    // A proxy that trusts `Content-Length` sees a single request with all of this as its body.
    let inner = format!(
        "PUT /api/v1/content/Documents/smuggled.txt HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: 2\r\n\r\nno",
        server.host()
    );
    let body = format!("4\r\ntrue\r\n0\r\n\r\n{inner}");
    let (length, coding) = (format!("Content-Length: {}\r\n", body.len()), "Transfer-Encoding: chunked\r\n");
    for (name, fields) in [("a.txt", format!("{length}{coding}")), ("b.txt", format!("{coding}{length}"))] {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "PUT /api/v1/content/Documents/{name} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer \
            {token}\r\n{fields}\r\n",
            server.host()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        // The connection may end with a reset, since the server leaves bytes unread.
        let _ = stream.read_to_string(&mut answer);
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        assert_eq!(client.get(name).await.unwrap().body, b"true");
    }
    assert_eq!(client.get("smuggled.txt").await.unwrap().status, StatusCode::NOT_FOUND);
    for wrong in ["Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, identity\r\n"] {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!("PUT /x HTTP/1.1\r\nHost: x\r\n{wrong}Content-Length: 4\r\n\r\ntrue");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
}
