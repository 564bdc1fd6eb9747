//! Every route of the real server with endless bodies, in a separate process whose memory is measured.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{Farm, PASSWORD, description};
use http_core::server::request_body::{DOCUMENTS, FIELDS, takes_documents};
use http_core::testing::is_alone;

/// Bytes sent if the server does not stop the client.
const MUCH: usize = 24 << 20;
/// Memory limits in bytes: for the anonymous memory of the whole process including this client (`MAX_MEMORY`), and for
/// the increase by one request (`MAX_INCREASE`).
const MAX_MEMORY: usize = 300 << 20;
const MAX_INCREASE: usize = 12 << 20;
/// Timeout for a response or the end of the connection.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the anonymous memory of the process in bytes, without mapped files.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Answered(u16),
    Closed,
    /// The server read everything and was still reading.
    Open,
}

/// Sends a head, then chunks until there is a response, the connection ends or `most` bytes were sent. Then it waits
/// for the response.
async fn send(address: SocketAddr, head: &str, begin: &[u8], piece: &[u8], (most, wait): (usize, Duration)) -> End {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut answer, mut body) = stream.into_split();
    let sending = async {
        body.write_all(head.as_bytes()).await?;
        let mut sent = 0;
        while sent < most {
            let data = if sent == 0 && !begin.is_empty() { begin } else { piece };
            body.write_all(format!("{:x}\r\n", data.len()).as_bytes()).await?;
            body.write_all(data).await?;
            body.write_all(b"\r\n").await?;
            sent += data.len();
        }
        std::io::Result::Ok(())
    };
    let mut first = [0; 12];
    let answering = async {
        match answer.read_exact(&mut first).await {
            Ok(_) => End::Answered(std::str::from_utf8(&first[9..]).unwrap().parse().unwrap()),
            Err(_) => End::Closed,
        }
    };
    tokio::pin!(answering);
    let work = async {
        tokio::select! {
            end = &mut answering => end,
            // The server discards an unwanted body for a while, and a response must still arrive. A connection that
            // closed while sending may hold a response, too.
            sent = sending => match tokio::time::timeout(wait, &mut answering).await {
                Ok(end) => end,
                Err(_) if sent.is_ok() && most > 0 => End::Open,
                Err(_) => answering.await,
            },
        }
    };
    tokio::time::timeout(2 * TIMEOUT, work).await.unwrap_or_else(|_| panic!("no end of {head}"))
}

struct Target {
    address: SocketAddr,
    cookie: String,
    token: String,
    library: String,
    routes: Vec<(String, String)>,
    _farm: Farm,
}

async fn serve() -> Target {
    let farm = Farm::new().await;
    let (library, routes) = (farm.id("Documents").await, description::all_routes(&farm.router));
    let me = farm.get("/api/v1/me").await.expect(200).json();
    let tokens = format!("/api/v1/users/{}/tokens", me["user"]["id"].as_str().unwrap());
    let made = farm.json("POST", &tokens, serde_json::json!({"name": "walk"})).await.expect(201);
    let token = made.json()["secret"].as_str().unwrap().to_owned();
    let client = repository::Client { address: [127, 0, 0, 1].into(), agent: String::new(), device: None };
    let session = farm.repository.sign_in("admin", PASSWORD, &client).await.unwrap();
    let (report, address) = oneshot::channel();
    let options = crate::Options::new("127.0.0.1:0".parse().unwrap());
    let ready = move |address| report.send(address).unwrap();
    let listener = crate::bind(&options).unwrap();
    tokio::spawn(crate::serve(farm.repository.clone(), listener, options, ready, std::future::pending()));
    let of_webdav = ["PROPFIND", "PROPPATCH", "MKCOL", "LOCK", "UNLOCK", "REPORT", "SEARCH", "COPY", "MOVE", "PUT"];
    let mut routes: Vec<(String, String)> =
        routes.into_iter().filter(|(_, path)| !path.contains("__private__")).collect();
    routes.extend(of_webdav.map(|verb| (verb.to_owned(), "/dav/{*path}".to_owned())));
    let cookie = format!("strongroom_session={}", session.secret);
    Target { address: address.await.unwrap(), cookie, token, library, routes, _farm: farm }
}

impl Target {
    /// Returns a path that the route serves.
    fn path(&self, route: &str) -> String {
        let documents = route.contains("upload") || route.contains("documents");
        let id = if documents { self.library.as_str() } else { "1" };
        let words = route.replace("{id}", id).replace("{*path}", "Documents/endless.bin");
        words.split('/').map(|word| if word.starts_with('{') { "1" } else { word }).collect::<Vec<_>>().join("/")
    }

    /// Returns the head of a request, up to the fields that describe its body.
    fn head(&self, method: &str, route: &str, known: bool) -> String {
        let credential = match known {
            true if route.starts_with("/api") || route.starts_with("/dav") => {
                format!("authorization: Bearer {}\r\n", self.token)
            }
            true => format!("cookie: {}\r\n", self.cookie),
            false => String::new(),
        };
        let depth = if method == "PROPFIND" { "depth: 0\r\n" } else { "" };
        let tus = "tus-resumable: 1.0.0\r\nupload-length: 1000000000\r\nupload-metadata: path RG9jdW1lbnRzL3QuYmlu\r\n";
        let tus = if route.starts_with("/api/v1/uploads") { tus } else { "" };
        format!("{} {} HTTP/1.1\r\nhost: x\r\n{credential}{depth}{tus}", method.to_uppercase(), self.path(route))
    }
}

fn kind(route: &str) -> &'static str {
    match route {
        "/api/v1/uploads" | "/api/v1/uploads/{id}" => "application/offset+octet-stream",
        route if route.starts_with("/api") => "application/json",
        "/items/{id}/upload" | "/items/{id}/replace" | "/s/{link}/{secret}/files" => {
            "multipart/form-data; boundary=cut"
        }
        route if route.starts_with("/dav") => "application/xml",
        _ => "application/x-www-form-urlencoded",
    }
}

fn begin(route: &str) -> &'static [u8] {
    match kind(route) {
        "application/json" => b"{\"name\":\"",
        "multipart/form-data; boundary=cut" => b"--cut\r\nContent-Disposition: form-data; name=\"",
        "application/xml" => b"<D:propfind xmlns:D='DAV:'><D:",
        "application/x-www-form-urlencoded" => b"form_token=",
        _ => b"",
    }
}

async fn walk() {
    let target = serve().await;
    let piece = vec![b'a'; 64 << 10];
    let (mut peak, mut count) = (0, 0);
    for (method, route) in &target.routes {
        for known in [false, true] {
            let what = format!("{method} {route}, known: {known}");
            let before = memory();
            let kind = kind(route);
            let head = target.head(method, route, known);
            let chunked = format!("{head}content-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
            let may_go_on = known && takes_documents(&method.to_uppercase(), route);
            let wait = if may_go_on { Duration::ZERO } else { TIMEOUT / 2 };
            let end = send(target.address, &chunked, begin(route), &piece, (MUCH, wait)).await;
            assert!(end != End::Open || may_go_on, "{what} takes a body without end");
            let long = format!("{head}x-long: {}\r\n\r\n", "a".repeat(64 << 10));
            let end = send(target.address, &long, b"", b"", (0, TIMEOUT)).await;
            assert!(matches!(end, End::Answered(431) | End::Closed), "{what} took a head of 64 KiB: {end:?}");
            let fields: String = (0..10_000).map(|n| format!("f{n}={n}&")).collect();
            let form = format!("{head}content-type: {kind}\r\ncontent-length: {}\r\n\r\n{fields}", fields.len());
            let end = send(target.address, &form, b"", b"", (0, TIMEOUT)).await;
            assert!(!matches!(end, End::Answered(500..)), "{what}: {end:?}");
            let more = memory().saturating_sub(before);
            assert!(more < MAX_INCREASE, "{what} left {more} bytes of memory held");
            peak = peak.max(memory());
            count += 3;
        }
    }
    println!("{count} requests to {} routes, {} MiB at most", target.routes.len(), peak >> 20);
    assert!(peak < MAX_MEMORY, "{peak}");
}

#[test]
fn no_route_takes_a_body_without_end() {
    if is_alone(module_path!(), "no_route_takes_a_body_without_end") {
        tokio::runtime::Runtime::new().unwrap().block_on(walk());
    }
}

async fn crowd() {
    let target = std::sync::Arc::new(serve().await);
    let mut tasks = Vec::new();
    for number in 0..300 {
        let target = target.clone();
        tasks.push(tokio::spawn(async move {
            let route = ["/s/{link}/{secret}", "/selection/archive", "/sign-in"][number % 3];
            let head = target.head("post", route, false);
            let head = format!("{head}content-type: {}\r\ntransfer-encoding: chunked\r\n\r\n", kind(route));
            send(target.address, &head, b"password=", &[b'a'; 16 << 10], (MUCH / 8, TIMEOUT)).await
        }));
    }
    let (mut peak, mut ends) = (0, Vec::new());
    for task in tasks {
        ends.push(task.await.unwrap());
        peak = peak.max(memory());
    }
    println!("300 endless forms at a time: {} MiB at most", peak >> 20);
    assert!(ends.iter().all(|end| *end != End::Open), "{ends:?}");
    assert!(peak < MAX_MEMORY, "{peak}");
}

#[test]
fn a_crowd_of_strangers_with_endless_forms_is_turned_away() {
    if is_alone(module_path!(), "a_crowd_of_strangers_with_endless_forms_is_turned_away") {
        tokio::runtime::Runtime::new().unwrap().block_on(crowd());
    }
}

#[tokio::test]
async fn routes_that_take_documents_are_there() {
    let farm = Farm::new().await;
    let routes = description::all_routes(&farm.router);
    for (method, route) in DOCUMENTS {
        let listed = routes.contains(&(method.to_lowercase(), route.to_owned()));
        let is_webdav = ["/dav", "/edit"].iter().any(|start| route.starts_with(start));
        assert!(listed || is_webdav, "{method} {route}");
    }
    const { assert!(FIELDS < MUCH) };
}
