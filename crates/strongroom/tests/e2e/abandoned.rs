//! HTTP/2 clients that send requests and never read the responses.

use std::time::Duration;

use bytes::Bytes;
use database::Engine;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::support::{Farm, Server, processes};

const CONNECTIONS: usize = 24;
/// Streams that the server accepts per connection.
const STREAMS: usize = 128;
/// Concurrent requests that the server allows per client address.
const PLACES: usize = 512;

/// Sends unauthenticated requests on all streams of a connection at once, with a flow-control window of 0, so that no
/// response body can be sent.
async fn ask(server: &Server, body: Bytes) -> Vec<Response<Incoming>> {
    let io = TokioIo::new(TcpStream::connect(server.host()).await.unwrap());
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(0);
    let (sender, connection) = builder.handshake(io).await.unwrap();
    tokio::spawn(connection);
    let asked = (0..STREAMS).map(|_| {
        let request = Request::post(format!("{}/selection/archive", server.address))
            .header("x-forwarded-for", "192.0.2.7")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(body.clone()));
        let mut sender = sender.clone();
        async move { sender.send_request(request.unwrap()).await.unwrap() }
    });
    futures_util::future::join_all(asked).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_takes_are_counted_and_given_up() {
    let farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    // Gives the client an address, so that the limit per address applies to it.
    let settings = "trusted_proxies = ['127.0.0.1']\nclient_address = 'x-forwarded-for'\n";
    std::fs::write(farm.data.join("strongroom.toml"), settings).unwrap();
    let server = farm.start();
    let before = processes::memory(server.pid(), "VmHWM");
    // Small enough not to count against the memory limit for bodies.
    let body = Bytes::from(format!("name={}", "a".repeat(15 << 10)));
    let mut all = Vec::new();
    for _ in 0..CONNECTIONS {
        all.extend(ask(&server, body.clone()).await);
    }
    let count = |status| all.iter().filter(|answer: &&Response<_>| answer.status() == status).count();
    let (answered, turned_away) = (count(StatusCode::UNAUTHORIZED), count(StatusCode::TOO_MANY_REQUESTS));
    let more = (processes::memory(server.pid(), "VmHWM") - before) >> 10;
    println!("{answered} answers, {turned_away} turned away, {more} MiB more at most");
    assert_eq!((answered, turned_away), (PLACES, CONNECTIONS * STREAMS - PLACES));
    assert!(more < 160, "{more} MiB");
    // Clients from other addresses are served meanwhile.
    assert!(server.client("").send(hyper::Method::GET, "/sign-in", Vec::new()).await.unwrap().status.is_success());
    for answer in all {
        // The server gives up after a minute.
        let ended = tokio::time::timeout(Duration::from_secs(150), answer.into_body().frame()).await;
        assert!(ended.expect("an end").is_none_or(|frame| frame.is_err()));
    }
}
