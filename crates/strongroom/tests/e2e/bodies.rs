//! Sends unwanted bodies and headers to every operation of the real server, which runs in a memory cgroup of 300 MB
//! where the system allows the test to create one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use database::Engine;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::Value;

use crate::support::wire::{Http, RawClient, Sent};
use crate::support::{Farm, Server, processes};

/// Memory limit of the server, in bytes.
const MAX_MEMORY: u64 = 300 << 20;
/// Bytes sent if the server does not stop the client: more than any operation but those of documents takes.
const MUCH: u64 = 12 << 20;
const PIECE_SIZE: usize = 64 << 10;
/// Timeout for a response or the end of the connection.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Operations that stream documents. Only quotas and policies limit them.
const DOCUMENTS: [&str; 8] = [
    "PUT /api/v1/content/{path}",
    "PUT /api/v1/items/{id}/content",
    "POST /api/v1/items/{id}/documents",
    "POST /api/v1/uploads",
    "PATCH /api/v1/uploads/{id}",
    "POST /items/{id}/upload",
    "POST /items/{id}/replace",
    "PUT /dav/{path}",
];
/// One row for each page route. Another test ensures that none is missing.
const PAGES: &str = include_str!("../../../http/src/tests/access/pages.txt");
const WEBDAV: [&str; 10] =
    ["PROPFIND", "PROPPATCH", "MKCOL", "LOCK", "UNLOCK", "REPORT", "SEARCH", "COPY", "MOVE", "PUT"];
const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data; boundary=cut";

/// A cgroup with a memory limit.
struct Group(PathBuf);

impl Group {
    /// Creates the cgroup, with version 1 or 2 of the interface. Returns `None` if neither works.
    fn new() -> Option<Self> {
        let name = format!("strongroom-bodies-{}", std::process::id());
        for (root, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let group = Self(Path::new(root).join(&name));
            let made = Path::new(root).join("cgroup.procs").exists() && std::fs::create_dir(&group.0).is_ok();
            if made && std::fs::write(group.0.join(limit), MAX_MEMORY.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }

    /// The command prefix that starts a program in the cgroup.
    fn words(&self) -> Vec<String> {
        let processes = self.0.join("cgroup.procs").to_str().unwrap().to_owned();
        ["sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", &processes].map(str::to_owned).into()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            // sleep: polled, since the cgroup stays busy until its last process has exited, without a notification
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Operation {
    /// Method and route.
    name: String,
    /// Media type of the body.
    kind: String,
}

impl Operation {
    fn method(&self) -> &str {
        self.name.split_once(' ').unwrap().0
    }

    fn route(&self) -> &str {
        self.name.split_once(' ').unwrap().1
    }

    /// A concrete path for the operation's route.
    fn path(&self, library: &str) -> String {
        let id = if self.route().contains("upload") || self.route().contains("documents") { library } else { "1" };
        let words = self.route().replace("{id}", id).replace("{path}", "Documents/endless.bin");
        let path = words.split('/').map(|word| if word.starts_with('{') { "1" } else { word }).collect::<Vec<_>>();
        path.join("/") + if self.route().ends_with("/documents") { "?name=endless.bin" } else { "" }
    }

    /// Header fields that the operation requires before it reads a body.
    fn fields(&self) -> Vec<(&'static str, &str)> {
        let mut fields = vec![("content-type", self.kind.as_str())];
        if self.route().starts_with("/api/v1/uploads") {
            fields.extend([("tus-resumable", "1.0.0"), ("upload-length", "1000000000"), ("upload-offset", "0")]);
            fields.push(("upload-metadata", "path RG9jdW1lbnRzL3QuYmlu"));
        }
        if self.method() == "PROPFIND" {
            fields.push(("depth", "0"));
        }
        fields
    }

    /// The beginning of an endless body of the operation's media type.
    fn begin(&self) -> &'static str {
        match self.kind.as_str() {
            "application/json" => "{\"name\":\"",
            "application/xml" => "<D:propfind xmlns:D='DAV:'><D:",
            PARTS => "--cut\r\nContent-Disposition: form-data; name=\"",
            FORM => "form_token=",
            _ => "",
        }
    }

    /// A body of the operation's media type with 10,000 fields.
    fn many(&self) -> String {
        let all = |of: fn(usize) -> String| (0..10_000).map(of).collect::<String>();
        match self.kind.as_str() {
            "application/json" => format!("[{}0]", all(|n| format!("{{\"f{n}\":{n}}},"))),
            "application/xml" => {
                let names = all(|n| format!("<D:f{n}/>"));
                format!("<D:propfind xmlns:D='DAV:'><D:prop>{names}</D:prop></D:propfind>")
            }
            PARTS => {
                let part = |n| format!("--cut\r\nContent-Disposition: form-data; name=\"f{n}\"\r\n\r\n{n}\r\n");
                all(part) + "--cut--\r\n"
            }
            _ => all(|n| format!("f{n}={n}&")),
        }
    }
}

/// A long body that starts with `begin`, and then either ends or stalls.
fn long(begin: &'static str, ends: bool) -> Sent {
    let piece = Bytes::from(vec![b'a'; PIECE_SIZE]);
    let pieces = (0..MUCH / PIECE_SIZE as u64).map(move |_| piece.clone());
    let pieces = stream::iter([Bytes::from(begin)].into_iter().chain(pieces)).map(|piece| Ok(Frame::data(piece)));
    match ends {
        true => BodyExt::boxed(StreamBody::new(pieces)),
        false => BodyExt::boxed(StreamBody::new(pieces.chain(stream::pending()))),
    }
}

/// All operations in the OpenAPI document.
async fn described(server: &Server) -> BTreeSet<Operation> {
    let text = server.client("").send(reqwest::Method::GET, "/api/openapi.json", Vec::new()).await.unwrap();
    let document: Value = text.json();
    let mut all = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if !["get", "head", "delete", "options", "patch", "post", "put"].contains(&method.as_str()) {
                continue;
            }
            let kinds = operation["requestBody"]["content"].as_object();
            let kind = kinds.and_then(|kinds| kinds.keys().next()).map_or("application/json", String::as_str);
            all.insert(Operation { name: format!("{} {path}", method.to_uppercase()), kind: kind.to_owned() });
        }
    }
    all
}

/// All page routes.
fn pages() -> BTreeSet<Operation> {
    // Indented lines continue the row above.
    let rows = PAGES.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ' ']));
    let operations = rows.map(|row| {
        let (method, address) = row.split('|').next().unwrap().trim().split_once(' ').unwrap();
        let path = address.split('?').next().unwrap();
        let words = path.split('/').map(|word| match word.split_once('=') {
            Some((name, _)) => format!("{name}}}"),
            None => word.to_owned(),
        });
        let path = words.collect::<Vec<_>>().join("/");
        let kind = if path.ends_with("/upload") || path.ends_with("/replace") { PARTS } else { FORM };
        Operation { name: format!("{method} {path}"), kind: kind.to_owned() }
    });
    operations.collect()
}

fn webdav() -> BTreeSet<Operation> {
    WEBDAV.map(|verb| Operation { name: format!("{verb} /dav/{{path}}"), kind: "application/xml".to_owned() }).into()
}

/// Sends a request. Returns the status of the response, or `None` if there was none.
async fn send(wire: &RawClient, operation: &Operation, path: &str, more: &[(&str, &str)], body: Sent) -> Option<u16> {
    let fields = [operation.fields().as_slice(), more].concat();
    let sent = tokio::time::timeout(TIMEOUT, wire.try_send(operation.method(), path, &fields, body)).await;
    let answer = sent.unwrap_or_else(|_| panic!("{} by {:?} takes a body without end", operation.name, wire.http));
    let status = answer.ok().map(|answer| answer.status().as_u16());
    assert!(status.is_none_or(|status| status != 500), "{} by {:?}: {status:?}", operation.name, wire.http);
    status
}

/// Sends an operation everything that it should not accept.
async fn tried(wire: &RawClient, operation: &Operation, library: &str, known: bool) {
    let path = operation.path(library);
    let takes = known && DOCUMENTS.contains(&operation.name.as_str());
    send(wire, operation, &path, &[], long(operation.begin(), takes)).await;
    let head = "a".repeat(64 << 10);
    let status = send(wire, operation, &path, &[("x-long", &head)], RawClient::nothing()).await;
    assert!(matches!(status, None | Some(431)), "{} took a head of 64 KiB: {status:?}", operation.name);
    send(wire, operation, &path, &[], RawClient::bytes(operation.many())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_operation_takes_what_it_does_not_want() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    let group = Group::new();
    farm.command_prefix = group.as_ref().map(Group::words).unwrap_or_default();
    let mut server = farm.start();
    farm.command_prefix.clear();
    let token = farm.token();
    let client = server.client(&token);
    let library = client.send(reqwest::Method::GET, "/api/v1/items/by-path?path=Documents", Vec::new()).await.unwrap();
    let library = library.json()["id"].as_str().unwrap().to_owned();
    let (pages, described, webdav) = (pages(), described(&server).await, webdav());
    assert!(pages.len() > 80, "{} pages, {} operations", pages.len(), described.len());
    assert!(described.len() > 100, "{} pages, {} operations", pages.len(), described.len());
    for http in [Http::One, Http::Two] {
        let (unknown, program) = (RawClient::unknown(&server, http), RawClient::with_token(&server, http, &token));
        let browser = RawClient::signed_in(&server, http).await;
        let of = |operations, wire, known| stream::iter(operations).map(move |one| (wire, one, known));
        let all = of(&pages, &unknown, false)
            .chain(of(&pages, &browser, true))
            .chain(of(&webdav, &unknown, false))
            .chain(of(&webdav, &program, true))
            .chain(of(&described, &unknown, false))
            .chain(of(&described, &program, true));
        all.for_each_concurrent(4, |(wire, operation, known)| tried(wire, operation, &library, known)).await;
    }
    assert!(server.is_alive(), "the server was ended");
    let ready = server.client("").send(reqwest::Method::GET, "/readyz", Vec::new()).await.unwrap();
    assert_eq!(ready.status.as_u16(), 200, "{}", ready.text());
    // Pages of the executable are file-backed. The kernel reclaims them under memory pressure, so they do not count.
    let figure = |name| processes::memory(server.pid(), name) << 10;
    let most = figure("VmHWM").saturating_sub(figure("RssFile"));
    let held = if group.is_some() { "held by a group" } else { "held by nothing" };
    let count = pages.len() + webdav.len() + described.len();
    println!("{count} operations, {} MiB at most, {held}", most >> 20);
    assert!(most < MAX_MEMORY, "{most} bytes");
    drop(server);
    drop(group);
}
