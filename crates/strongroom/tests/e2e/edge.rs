//! Limits on clients (bodies, memory, connections, time), and TLS, metrics and browsers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::Engine;
use http_body_util::BodyExt;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::wire::{Http, Pace, RawClient, read_body};
use crate::support::{Farm, Server};

/// Starts a farm with this text as its settings file.
async fn with_settings(text: &str) -> (Farm, Server) {
    let farm = Farm::on(Engine::Sqlite).await;
    std::fs::create_dir_all(&farm.data).unwrap();
    std::fs::write(farm.data.join("strongroom.toml"), text).unwrap();
    let server = farm.start();
    (farm, server)
}

/// Anonymous memory of a process in bytes, without mapped files.
fn memory(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Runs `work`. Returns its result, its duration, and the peak rise of the server's memory in MiB.
async fn watched<T>(server: &Server, work: impl Future<Output = T>) -> (T, Duration, usize) {
    let (pid, before, done) = (server.pid(), memory(server.pid()), Arc::new(AtomicBool::new(false)));
    let sampling = std::thread::spawn({
        let done = done.clone();
        move || {
            let mut peak = before;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(memory(pid));
                // sleep: memory is sampled, since nothing reports its peak
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        }
    });
    let started = Instant::now();
    let answer = work.await;
    let took = started.elapsed();
    done.store(true, Ordering::Relaxed);
    (answer, took, (sampling.join().unwrap() - before) >> 20)
}

async fn ask(wire: &RawClient, method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> (u16, usize) {
    let answer = wire.send(method, path, fields, RawClient::bytes(body.to_owned())).await;
    (answer.status().as_u16(), read_body(answer, Pace::Fast).await.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn xml_takes_memory_in_proportion_to_what_came() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let wire = RawClient::with_token(&server, Http::One, &farm.token());
    for number in 0..300 {
        let path = format!("/api/v1/content/Documents/{number}.txt");
        assert_eq!(ask(&wire, "PUT", &path, &[], "x").await.0, 201);
    }
    let body = |namespace: usize, count: usize, name: usize| {
        let names: String = (0..count).map(|n| format!("<p:n{}{n}/>", "a".repeat(name))).collect();
        let inner = format!("<D:prop xmlns:p='{}'>{names}</D:prop>", "u".repeat(namespace));
        format!("<D:propfind xmlns:D='DAV:'>{inner}</D:propfind>")
    };
    for (what, depth, body, accepted) in [
        ("200 KB of namespace and 9,000 elements", "0", body(200_000, 9_000, 0), false),
        ("980 KB of namespace and 500 elements", "0", body(980_000, 500, 0), false),
        ("9,900 properties", "1", body(10, 9_900, 80), false),
        ("one name of 1 MB", "1", body(10, 1, 1_000_000), false),
        ("100 properties of 1 KiB in a namespace of 1 KiB", "1", body(1_024, 100, 1_000), true),
    ] {
        let fields = [("depth", depth)];
        let request = ask(&wire, "PROPFIND", "/dav/Documents/", &fields, &body);
        let ((status, length), took, memory) = watched(&server, request).await;
        println!("{what}: {status}, {length} bytes in {took:?}, {memory} MiB");
        assert_eq!(status, if accepted { 207 } else { 400 }, "{what}");
        assert!(memory < 48, "{what}: {memory} MiB");
    }
    // A version-tree report repeats the property names for each version.
    for _ in 0..50 {
        assert!(ask(&wire, "PUT", "/api/v1/content/Documents/1.txt", &[], "y").await.0 < 300);
    }
    let tree = body(1_024, 100, 1_000).replace("D:propfind", "D:version-tree");
    let request = ask(&wire, "REPORT", "/dav/Documents/1.txt", &[], &tree);
    let ((status, length), took, memory) = watched(&server, request).await;
    println!("a version tree: {status}, {length} bytes in {took:?}, {memory} MiB");
    assert!(status == 207, "{status}, {length} bytes, {memory} MiB");
    assert!(length > 51 * 200_000, "{status}, {length} bytes, {memory} MiB");
    assert!(memory < 48, "{status}, {length} bytes, {memory} MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn xml_that_is_written_again_is_bounded_while_it_is_written() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let wire = RawClient::with_token(&server, Http::One, &farm.token());
    assert_eq!(ask(&wire, "PUT", "/api/v1/content/Documents/a.txt", &[], "x").await.0, 201);
    // A namespace that grows when it is escaped, and as many attributes with it as a body can hold.
    let namespaces = format!("xmlns:D='DAV:' xmlns:p='{}'", ">".repeat(1_024));
    let attributes: String = (0..98).map(|n| format!(" p:a{n}=''")).collect();
    let elements = |count: usize| (0..count).map(|n| format!("<p:e{n}{attributes}/>")).collect::<String>();
    let lock = |owner: &str| {
        let kind = "<D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>";
        format!("<D:lockinfo {namespaces}>{kind}<D:owner>{owner}</D:owner></D:lockinfo>")
    };
    let set = |root: &str, properties: &str| {
        let root = format!("D:propertyupdate {namespaces}{root}");
        format!("<{root}><D:set><D:prop>{properties}</D:prop></D:set></D:propertyupdate>")
    };
    let many: String = (0..1_000).map(|n| format!("<D:e{n}/>")).collect();
    for (what, method, body, expected) in [
        ("an owner with 98,000 attributes", "LOCK", lock(&elements(1_000)), 400),
        ("980 properties with 98 attributes", "PROPPATCH", set("", &elements(980)), 507),
        ("a property with 98,000 attributes", "PROPPATCH", set("", &format!("<p:x>{}</p:x>", elements(990))), 507),
        ("a language of 900 KB", "PROPPATCH", set(&format!(" xml:lang='{}'", "l".repeat(900_000)), &many), 507),
        // Since a namespace is declared only once, this owner is just over the limit.
        ("an owner with 2 attributes", "LOCK", lock("<D:e p:a='' p:b=''/>"), 400),
    ] {
        let request = ask(&wire, method, "/dav/Documents/a.txt", &[], &body);
        let ((status, length), took, memory) = watched(&server, request).await;
        println!("{what}, {} bytes: {status}, {length} bytes in {took:?}, {memory} MiB", body.len());
        assert_eq!(status, expected, "{what}");
        assert!(memory < 64, "{what}: {memory} MiB");
    }
    // Ordinary requests of real clients still work.
    assert_eq!(ask(&wire, "PROPPATCH", "/dav/Documents/a.txt", &[], &set("", "<p:x p:a='1'>y</p:x>")).await.0, 207);
    assert_eq!(ask(&wire, "LOCK", "/dav/Documents/a.txt", &[], &lock("<D:href>me</D:href>")).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_a_request_are_bounded() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let wire = RawClient::with_token(&server, Http::One, &farm.token());
    let field = |count: usize| (0..count).map(|n| format!("</dav/{n}> (<t>) ")).collect::<String>();
    for (count, expected) in [(100, 412), (101, 400), (2_500, 400)] {
        let condition = field(count);
        let fields = [("if", condition.as_str())];
        let request = ask(&wire, "DELETE", "/dav/Documents/a.txt", &fields, "");
        let ((status, _), took, _) = watched(&server, request).await;
        println!("{count} conditions: {status} in {took:?}");
        assert_eq!(status, expected, "{count}");
    }
}

fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.host()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A reset connection has delivered all its data.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_length_smuggles_no_request() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let (chunked, length) = ("transfer-encoding: chunked\r\n", "content-length: 60\r\n");
    for fields in [format!("{chunked}{length}"), format!("{length}{chunked}")] {
        let hidden = "GET /healthz HTTP/1.1\r\nhost: x\r\nx-request-id: smuggled\r\n\r\n";
        let said = raw(&server, &format!("POST /sign-in HTTP/1.1\r\nhost: x\r\n{fields}\r\n0\r\n\r\n{hidden}"));
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
        assert!(!said.contains("smuggled"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_and_requests_have_limits() {
    let (farm, server) = with_settings("connections = 6\nrequests_per_user = 2\n").await;
    let token = farm.token();
    let wire = RawClient::with_token(&server, Http::One, &token);
    assert_eq!(ask(&wire, "PUT", "/api/v1/content/Documents/a.bin", &[], &"x".repeat(20_000_000)).await.0, 201);
    // Two responses that are still being sent count as two concurrent requests.
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut answer =
            wire.send("GET", "/api/v1/content/Documents/a.bin", &[], RawClient::nothing()).await.into_body();
        assert!(answer.frame().await.unwrap().is_ok());
        held.push(answer);
    }
    assert_eq!(ask(&wire, "GET", "/api/v1/me", &[], "").await.0, 429);
    drop(held);
    wire.hang_up();
    crate::mounted::until("room for requests", async || ask(&wire, "GET", "/api/v1/me", &[], "").await.0 == 200).await;
    wire.hang_up();
    let get = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let closed = || raw(&server, get).is_empty();
    // Connections of before may still hold room, so that it takes more than six until no more is left.
    let mut full = Vec::new();
    crate::mounted::until("the end of room", async || {
        full.push(TcpStream::connect(server.host()).unwrap());
        closed()
    })
    .await;
    drop(full);
    crate::mounted::until("room for connections", async || raw(&server, get).starts_with("HTTP/1.1 200")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_this_machine_or_for_those_with_the_token() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let get = |fields: &str| format!("GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{fields}\r\n");
    assert!(raw(&server, &get("")).starts_with("HTTP/1.1 200"));
    // A proxy on this machine forwards the request of another client.
    let said = raw(&server, &get("x-forwarded-for: 192.0.2.7\r\n"));
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    assert!(said.contains("metrics_token"), "{said}");
    drop(server);
    let (_farm, server) = with_settings("metrics_token = 'a-long-secret'\n").await;
    for (fields, expected) in [
        ("", "401"),
        ("authorization: Bearer another-secret\r\n", "401"),
        ("authorization: Bearer a-long-secret\r\n", "200"),
    ] {
        assert!(raw(&server, &get(fields)).starts_with(&format!("HTTP/1.1 {expected}")), "{fields}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_content_is_not_served_as_script() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let wire = RawClient::with_token(&server, Http::One, &farm.token());
    assert_eq!(ask(&wire, "PUT", "/dav/Documents/a.js", &[], "alert(1)").await.0, 201);
    for path in ["/dav/Documents/a.js", "/api/v1/content/Documents/a.js"] {
        for (used_as, expected) in [("script", 403), ("serviceworker", 403), ("style", 403), ("document", 200)] {
            let (status, _) = ask(&wire, "GET", path, &[("sec-fetch-dest", used_as)], "").await;
            assert_eq!(status, expected, "{path} as {used_as}");
        }
    }
}

fn certificate(directory: &Path, name: &str) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
        .args(["-subj", &format!("/CN={name}"), "-keyout", "new.key", "-out", "new.crt"])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (from, to) in [("new.key", "tls.key"), ("new.crt", "tls.crt")] {
        std::fs::rename(directory.join(from), directory.join(to)).unwrap();
    }
}

/// The subject of the certificate that a server presents.
fn shown(host: &str) -> String {
    let script = format!("openssl s_client -connect {host} </dev/null 2>/dev/null | openssl x509 -noout -subject");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_read_again_and_browsers_stay_with_tls() {
    let scratch = tempfile::tempdir().unwrap();
    certificate(scratch.path(), "first");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_strongroom"), "serve", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(scratch.path().join("data"));
    command.arg("--tls-certificate").arg(scratch.path().join("tls.crt"));
    command.arg("--tls-key").arg(scratch.path().join("tls.key"));
    command.env("STRONGROOM_ADMIN_PASSWORD", crate::support::PASSWORD).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find(|line| line.contains("serves at")).unwrap();
    let host = said.split("https://").nth(1).unwrap().trim_end_matches('/').to_owned();
    assert!(shown(&host).contains("first"));
    let head = Command::new("curl").args(["-ski", &format!("https://{host}/healthz")]).output().unwrap();
    let head = String::from_utf8_lossy(&head.stdout).to_lowercase();
    assert!(head.contains("strict-transport-security: max-age="), "{head}");
    certificate(scratch.path(), "second");
    // The certificate is reloaded automatically within seconds, and at once on SIGHUP.
    crate::mounted::until("the second certificate", async || shown(&host).contains("second")).await;
    // A file that is not a certificate leaves the loaded one in use.
    std::fs::write(scratch.path().join("tls.crt"), "nothing").unwrap();
    let pid = Pid::from_raw(server.id() as i32).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    assert!(shown(&host).contains("second"));
    certificate(scratch.path(), "third");
    kill_process(pid, Signal::HUP).unwrap();
    crate::mounted::until("the third certificate", async || shown(&host).contains("third")).await;
    server.kill().unwrap();
    server.wait().unwrap();
}
