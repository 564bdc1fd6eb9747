//! Every route of the real server against bodies without end, in a process of its own whose memory is looked at.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{Bounded, DOCUMENTS, FIELDS, UNKNOWN, apart, aside, takes_documents, whole};
use crate::rest::tests::{Farm, PASSWORD, description};

/// Bytes that are sent where nobody says to stop.
const MUCH: usize = 24 << 20;
/// Most memory in bytes that the whole process, this client included, may hold for itself, and that one request may
/// add.
const MOST_MEMORY: usize = 300 << 20;
const MOST_MORE: usize = 12 << 20;
/// Longest time until a request is answered or its connection closed.
const PATIENCE: Duration = Duration::from_secs(30);
const ALONE: &str = "STRONGROOM_TEST_ALONE";

/// Bytes of memory that the process holds for itself, without files that are mapped.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Runs a test of this file again, alone in a process; true in that process.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    // Memory that was freed goes back, so that what is held can be told from what was.
    command.args(["--exact", &format!("intake::tests::{test}"), "--nocapture"]).env(ALONE, "1");
    let output = command.env("MALLOC_TRIM_THRESHOLD_", "131072").env("MALLOC_ARENA_MAX", "2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    println!("{said}");
    false
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Answered(u16),
    Closed,
    /// Everything was taken, and more would be.
    Open,
}

/// Sends a head, then pieces in chunks until there is an answer, the connection ends or enough was sent; then the
/// answer is waited for.
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
            // What nobody wants is thrown away for a while: an answer has to come all the same. A connection that is
            // closed while something is sent may still hold one, too.
            sent = sending => match tokio::time::timeout(wait, &mut answering).await {
                Ok(end) => end,
                Err(_) if sent.is_ok() && most > 0 => End::Open,
                Err(_) => answering.await,
            },
        }
    };
    tokio::time::timeout(2 * PATIENCE, work).await.unwrap_or_else(|_| panic!("no end of {head}"))
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
    /// An address that the route serves.
    fn path(&self, route: &str) -> String {
        let documents = route.contains("upload") || route.contains("documents");
        let id = if documents { self.library.as_str() } else { "1" };
        let words = route.replace("{id}", id).replace("{*path}", "Documents/endless.bin");
        words.split('/').map(|word| if word.starts_with('{') { "1" } else { word }).collect::<Vec<_>>().join("/")
    }

    /// The head of a request, up to what describes its body.
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
        "/items/{id}/upload" | "/items/{id}/replace" => "multipart/form-data; boundary=cut",
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
            let wait = if may_go_on { Duration::ZERO } else { PATIENCE / 2 };
            let end = send(target.address, &chunked, begin(route), &piece, (MUCH, wait)).await;
            assert!(end != End::Open || may_go_on, "{what} takes a body without end");
            let long = format!("{head}x-long: {}\r\n\r\n", "a".repeat(64 << 10));
            let end = send(target.address, &long, b"", b"", (0, PATIENCE)).await;
            assert!(matches!(end, End::Answered(431) | End::Closed), "{what} took a head of 64 KiB: {end:?}");
            let fields: String = (0..10_000).map(|n| format!("f{n}={n}&")).collect();
            let form = format!("{head}content-type: {kind}\r\ncontent-length: {}\r\n\r\n{fields}", fields.len());
            let end = send(target.address, &form, b"", b"", (0, PATIENCE)).await;
            assert!(!matches!(end, End::Answered(500..)), "{what}: {end:?}");
            let more = memory().saturating_sub(before);
            assert!(more < MOST_MORE, "{what} left {more} bytes of memory held");
            peak = peak.max(memory());
            count += 3;
        }
    }
    println!("{count} requests to {} routes, {} MiB at most", target.routes.len(), peak >> 20);
    assert!(peak < MOST_MEMORY, "{peak}");
}

#[test]
fn no_route_takes_a_body_without_end() {
    if is_alone("no_route_takes_a_body_without_end") {
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
            send(target.address, &head, b"password=", &[b'a'; 16 << 10], (MUCH / 8, PATIENCE)).await
        }));
    }
    let (mut peak, mut ends) = (0, Vec::new());
    for task in tasks {
        ends.push(task.await.unwrap());
        peak = peak.max(memory());
    }
    println!("300 endless forms at a time: {} MiB at most", peak >> 20);
    assert!(ends.iter().all(|end| *end != End::Open), "{ends:?}");
    assert!(peak < MOST_MEMORY, "{peak}");
}

#[test]
fn a_crowd_of_strangers_with_endless_forms_is_turned_away() {
    if is_alone("a_crowd_of_strangers_with_endless_forms_is_turned_away") {
        tokio::runtime::Runtime::new().unwrap().block_on(crowd());
    }
}

#[tokio::test]
async fn routes_that_take_documents_are_there() {
    let farm = Farm::new().await;
    let routes = description::all_routes(&farm.router);
    for (method, route) in DOCUMENTS {
        let listed = routes.contains(&(method.to_lowercase(), route.to_owned()));
        assert!(listed || route.starts_with("/dav"), "{method} {route}");
    }
    const { assert!(FIELDS < MUCH) };
}

/// A body that brings so many bytes after each pause, bounded like that of a request.
fn slow(pause: Duration, piece: usize, count: usize, rate: u64) -> Body {
    let stream = futures_util::stream::unfold(0, move |at| async move {
        // sleep: the clock is paused, nothing waits here
        tokio::time::sleep(pause).await;
        (at < count).then(|| (Ok::<_, std::io::Error>(Bytes::from(vec![7; piece])), at + 1))
    });
    let body = Body::from_stream(stream);
    Body::new(Bounded { body, left: None, rate, taken: 0, waited: Duration::ZERO, wait: None })
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_too_slowly_is_given_up_and_a_bad_line_is_not() {
    let second = Duration::from_secs(1);
    for (pause, piece, count, rate, expected) in [
        (59 * second, 1, 100, 500, Err("body_timeout")),
        (3 * second, 1, 100, 500, Err("body_timeout")),
        // The first half minute is free, silence for more than a minute never is.
        (14 * second, 1, 1, 500, Ok(1)),
        (61 * second, 1 << 20, 2, 500, Err("body_timeout")),
        (61 * second, 1, 1, 0, Err("body_timeout")),
        (59 * second, 1, 5, 0, Ok(5)),
        (second, 600, 1_000, 500, Ok(600_000)),
        (second, 400, 1_000, 500, Err("body_timeout")),
        (25 * second, 50_000, 20, 500, Ok(1_000_000)),
    ] {
        let started = tokio::time::Instant::now();
        let read = whole(slow(pause, piece, count, rate), FIELDS).await;
        let read = read.map(|bytes| bytes.len()).map_err(|error| error.code());
        assert_eq!(read, expected, "{piece} bytes each {pause:?}");
        if rate > 0 && expected.is_err() {
            assert!(started.elapsed() < 200 * second, "{:?}", started.elapsed());
        }
    }
}

#[tokio::test]
async fn a_body_is_taken_up_to_its_bound() {
    let pieces = |sizes: &'static [usize]| {
        let pieces = sizes.iter().map(|size| Ok::<_, std::io::Error>(Bytes::from(vec![7; *size])));
        Body::from_stream(futures_util::stream::iter(pieces))
    };
    for (sizes, most, expected) in [
        (&[][..], 0, Ok(0)),
        (&[65_536], 65_536, Ok(65_536)),
        (&[65_536, 1], 65_536, Err("too_large")),
        (&[16_384, 16_384, 1], FIELDS, Ok(32_769)),
        (&[1 << 20, 1 << 20], FIELDS, Ok(FIELDS)),
    ] {
        let read = whole(pieces(sizes), most).await.map(|bytes| bytes.len()).map_err(|error| error.code());
        assert_eq!(read, expected, "{sizes:?}");
    }
    assert_eq!(whole(Body::from(vec![7; 2]), 1).await.unwrap_err().code(), "too_large");
}

/// A body whose first bytes have come, and what lets its end come.
fn unfinished(bytes: usize) -> (Body, oneshot::Sender<()>) {
    let (end, ended) = oneshot::channel();
    let first = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![7; bytes]))]);
    let last = futures_util::stream::once(async move {
        let _ = ended.await;
        Ok(Bytes::from_static(b"!"))
    });
    (Body::from_stream(futures_util::StreamExt::chain(first, last)), end)
}

/// Somebody's request: of a person, or from an address.
async fn on_behalf<F: Future>(person: Option<&str>, address: Option<[u8; 4]>, work: F) -> F::Output {
    let context = crate::server::request::RequestContext::of(&Default::default());
    let request = async move {
        let place = address.and_then(|address| crate::server::crowd::Crowd::new(1_000).enter(address.into()));
        crate::server::request::note_crowds(crate::server::crowd::Crowds::new(crate::Limits::default()), place);
        person.map(crate::server::request::note_principal).transpose().unwrap();
        work.await
    };
    context.scope(request).await
}

/// A body whose first bytes have come, read on behalf of somebody, and what lets its end come.
fn begun(person: &str, bytes: usize) -> (tokio::task::JoinHandle<Result<usize, &'static str>>, oneshot::Sender<()>) {
    begun_at(person, None, bytes)
}

fn begun_at(
    person: &str,
    address: Option<[u8; 4]>,
    bytes: usize,
) -> (tokio::task::JoinHandle<Result<usize, &'static str>>, oneshot::Sender<()>) {
    let ((body, end), person) = (unfinished(bytes), person.to_owned());
    let reading = async move { whole(body, FIELDS).await.map(|bytes| bytes.len()).map_err(|error| error.code()) };
    (tokio::spawn(async move { on_behalf(Some(&person), address, reading).await }), end)
}

#[tokio::test]
async fn one_person_who_sends_slowly_keeps_nobody_else_from_sending() {
    let much = FIELDS - 1;
    let mut held: Vec<_> = (0..7).map(|_| begun("anna", much)).collect();
    // What came is taken in before the next task has its turn.
    tokio::task::yield_now().await;
    let (further, _end) = begun("anna", much);
    assert_eq!(further.await.unwrap(), Err("too_many_requests"));
    let (small, end) = begun("anna", 1_000);
    end.send(()).unwrap();
    assert_eq!(small.await.unwrap(), Ok(1_001));
    let (other, end) = begun("bert", much);
    end.send(()).unwrap();
    assert_eq!(other.await.unwrap(), Ok(FIELDS));
    let (first, end) = held.pop().unwrap();
    end.send(()).unwrap();
    assert_eq!(first.await.unwrap(), Ok(FIELDS));
    let (again, end) = begun("anna", much);
    end.send(()).unwrap();
    assert_eq!(again.await.unwrap(), Ok(FIELDS));
}

async fn accounts_of_one_address() {
    let (here, elsewhere, much) = (Some([198, 18, 1, 1]), Some([198, 18, 1, 2]), FIELDS - 1);
    let _held: Vec<_> = (0..14).map(|number| begun_at(["anna", "bert"][number % 2], here, much)).collect();
    tokio::task::yield_now().await;
    let (further, _end) = begun_at("cora", here, much);
    assert_eq!(further.await.unwrap(), Err("too_many_requests"));
    let (other, end) = begun_at("cora", elsewhere, much);
    end.send(()).unwrap();
    assert_eq!(other.await.unwrap(), Ok(FIELDS));
}

#[test]
fn accounts_of_one_address_leave_half_of_the_room_to_others() {
    if is_alone("accounts_of_one_address_leave_half_of_the_room_to_others") {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(accounts_of_one_address());
    }
}

async fn strangers() {
    let (mut held, mut refused) = (Vec::new(), 0);
    for number in 0..1_600u16 {
        let (body, end) = unfinished(UNKNOWN - 1);
        let from = [198, 18, 0, (number % 8) as u8];
        let reading = on_behalf(None, Some(from), async { whole(body, UNKNOWN).await.map(|body| body.len()) });
        held.push((Box::pin(reading), end));
        let (reading, _) = held.last_mut().unwrap();
        match futures_util::future::poll_immediate(reading).await {
            Some(outcome) => {
                refused += usize::from(["busy", "too_many_requests"].contains(&outcome.unwrap_err().code()))
            }
            None => continue,
        }
        held.pop();
    }
    println!("{} bodies of strangers are held, {refused} were refused", held.len());
    assert!(refused > 0 && held.len() * UNKNOWN <= 16 << 20, "{} are held", held.len());
    // Who has signed in sends all the same, from the address of one of the strangers too.
    let body = || Body::from(vec![7; FIELDS]);
    for login in ["anna", "bert", "cora"] {
        let read = on_behalf(Some(login), Some([198, 18, 0, 1]), async { whole(body(), FIELDS).await });
        assert_eq!(read.await.map(|body| body.len()).map_err(|error| error.code()), Ok(FIELDS), "{login}");
    }
    // What signing in takes is not counted.
    let short = on_behalf(None, Some([198, 18, 0, 1]), async { whole(Body::from("login=anna"), UNKNOWN).await });
    assert_eq!(short.await.map(|body| body.len()).map_err(|error| error.code()), Ok(10));
}

#[test]
fn strangers_who_send_slowly_keep_nobody_who_has_signed_in_from_sending() {
    // They take all the room that they have, so no other test may need some of it.
    if is_alone("strangers_who_send_slowly_keep_nobody_who_has_signed_in_from_sending") {
        tokio::runtime::Runtime::new().unwrap().block_on(strangers());
    }
}

#[tokio::test]
async fn bodies_take_their_room_until_they_are_parsed() {
    let slowly = |_: &[u8]| {
        // sleep: parsing takes a while, so that bodies wait for their turn
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    };
    let send = async || apart(whole(Body::from(vec![7; FIELDS]), FIELDS).await?, slowly).await;
    let ends = (0..40).map(|_| on_behalf(Some("dora"), None, send()));
    let ends = futures_util::future::join_all(ends).await;
    let codes: Vec<_> = ends.into_iter().map(|end| end.map_err(|error| error.code())).collect();
    let parsed = codes.iter().filter(|end| end.is_ok()).count();
    assert!((1..=8).contains(&parsed), "{parsed} bodies of 2 MiB were held at a time");
    assert!(codes.iter().all(|end| matches!(end, Ok(()) | Err("too_many_requests"))), "{codes:?}");
    assert!(on_behalf(Some("dora"), None, send()).await.is_ok());
}

#[tokio::test]
async fn nobody_waits_for_all_that_another_asked_for() {
    let work = || {
        aside(|| {
            // sleep: work takes a while, so that the next waits for it
            std::thread::sleep(Duration::from_millis(10));
            tokio::time::Instant::now()
        })
    };
    // More than may go before his, on any machine.
    let kept = 10 * super::processors();
    let anna: Vec<_> = (0..2 * kept).map(|_| tokio::spawn(on_behalf(Some("anna"), None, work()))).collect();
    // Hers is all asked for before his; half of it is given up by who asked.
    tokio::task::yield_now().await;
    anna.iter().skip(kept).for_each(|work| work.abort());
    let bert = tokio::spawn(on_behalf(Some("bert"), None, work())).await.unwrap().unwrap();
    let mut before = 0;
    for work in anna.into_iter().take(kept) {
        before += usize::from(work.await.unwrap().unwrap() < bert);
    }
    assert!(before <= 2 * super::processors() + 2, "{before} pieces of work of anna went before the one of bert");
    // Turns of those who waited no more are not lost.
    for _ in 0..4 {
        tokio::time::timeout(PATIENCE, on_behalf(Some("bert"), None, work())).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn costly_work_leaves_a_processor_to_others() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static AT_WORK: AtomicUsize = AtomicUsize::new(0);
    let most = super::processors().saturating_sub(1).max(1);
    let works = (0..4 * super::processors() + 4).map(|_| {
        super::aside(|| {
            let at_work = AT_WORK.fetch_add(1, Ordering::SeqCst) + 1;
            // sleep: work takes a while, so that all that may begin does
            std::thread::sleep(Duration::from_millis(30));
            AT_WORK.fetch_sub(1, Ordering::SeqCst);
            at_work
        })
    });
    let seen = futures_util::future::join_all(works).await.into_iter().map(Result::unwrap).max().unwrap();
    assert!(seen <= most, "{seen} at a time, although there are {most} turns");
}
