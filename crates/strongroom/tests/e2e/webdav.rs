//! WebDAV with common clients (litmus, rclone and cadaver) against the real server, and bodies that break off.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use database::Engine;
use serde_json::Value;

use crate::support::{Client, Farm, PASSWORD, Server, bytes, processes};
use crate::words::wait_until_indexed;

/// Number of tests in litmus: basic, copymove, props, locks and http.
const LITMUS: u32 = 104;

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"))
}

async fn litmus(engine: Engine) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let scratch = tempfile::tempdir().unwrap();
    let url = format!("{}/dav/Documents/", server.address);
    let output = run(Command::new("litmus").arg("-k").args([&url, "admin", PASSWORD]).current_dir(scratch.path()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // Example: <- summary for `basic': of 16 tests run: 16 passed, 0 failed. 100.0%
    let counts = said.lines().filter_map(|line| line.split_once("summary for").map(|(_, rest)| rest)).map(|rest| {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("passed")).unwrap();
        words[at - 1].parse::<u32>().unwrap()
    });
    assert_eq!(counts.sum::<u32>(), LITMUS, "{said}");
    assert!(!said.contains("FAIL"), "{said}");
    assert!(output.status.success(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn litmus_passes_on_sqlite() {
    litmus(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn litmus_passes_on_postgres() {
    litmus(Engine::Postgres).await;
}

/// Version numbers of a document in the library Documents, newest first.
pub async fn versions(client: &Client, path: &str) -> Vec<String> {
    let get = async |path: String| {
        let answer = client.send(reqwest::Method::GET, &path, Vec::new()).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let item = get(format!("/api/v1/items/by-path?path=Documents/{path}")).await;
    let listed = get(format!("/api/v1/items/{}/versions", item["id"].as_str().unwrap())).await;
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|version| version["number"].as_str().unwrap().to_owned()).collect()
}

/// An rclone command for the library Documents.
pub fn rclone_command(server: &Server) -> Command {
    let obscured = run(Command::new("rclone").args(["obscure", PASSWORD]));
    let password = String::from_utf8(obscured.stdout).unwrap();
    let mut command = Command::new("rclone");
    command.args(["--config", "/dev/null", "--retries", "1", "--webdav-vendor", "other", "--webdav-user", "admin"]);
    command.args(["--webdav-pass", password.trim(), "--webdav-url", &format!("{}/dav/Documents/", server.address)]);
    command
}

fn rclone(server: &Server, words: &[&str]) -> String {
    let output = run(rclone_command(server).args(words));
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rclone_syncs_there_and_back() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let scratch = tempfile::tempdir().unwrap();
    let (local, back) = (scratch.path().join("local"), scratch.path().join("back"));
    let names = ["a b/100 % #1+2.txt", "a b/e\u{301}.txt", "💾/deep/er/x.bin", "empty.txt", "[x] & 'y'.txt"];
    for (number, name) in names.iter().enumerate() {
        let path = local.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes(number as u64, if *name == "empty.txt" { 0 } else { 20_000 })).unwrap();
    }
    let words = |path: &Path| path.to_str().unwrap().to_owned();
    rclone(&server, &["sync", &words(&local), ":webdav:tree"]);
    rclone(&server, &["check", "--download", &words(&local), ":webdav:tree"]);
    // Edit, rename, copy, delete, and sync again.
    std::fs::write(local.join("[x] & 'y'.txt"), bytes(9, 30_000)).unwrap();
    std::fs::rename(local.join("empty.txt"), local.join("renamed.txt")).unwrap();
    std::fs::copy(local.join("a b/e\u{301}.txt"), local.join("copy.txt")).unwrap();
    std::fs::remove_dir_all(local.join("💾")).unwrap();
    rclone(&server, &["sync", &words(&local), ":webdav:tree"]);
    rclone(&server, &["sync", ":webdav:tree", &words(&back)]);
    let differ = run(Command::new("diff").args(["-r", &words(&local), &words(&back)]));
    assert!(differ.status.success(), "{}", String::from_utf8_lossy(&differ.stdout));
    rclone(&server, &["moveto", ":webdav:tree/copy.txt", ":webdav:tree/moved.txt"]);
    rclone(&server, &["moveto", ":webdav:tree/a b", ":webdav:other"]);
    let listed = rclone(&server, &["lsf", "-R", ":webdav:"]);
    assert!(listed.contains("tree/moved.txt"), "{listed}");
    assert!(listed.contains("other/100 % #1+2.txt"), "{listed}");
    let name = "tree/%5Bx%5D%20%26%20%27y%27.txt";
    assert_eq!(versions(&client, name).await, ["2.0", "1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cadaver_edits_under_a_lock() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let scratch = tempfile::tempdir().unwrap();
    let login = format!("machine 127.0.0.1 login admin password {token}\n");
    std::fs::write(scratch.path().join(".netrc"), login).unwrap();
    std::fs::write(scratch.path().join("local.txt"), "one").unwrap();
    std::fs::write(scratch.path().join("next.txt"), "two").unwrap();
    let say = |words: &str| {
        let mut child = Command::new("cadaver")
            .arg(format!("{}/dav/Documents/", server.address))
            .env("HOME", scratch.path())
            .current_dir(scratch.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(format!("{words}\nquit\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let said = say("mkcol folder\nput local.txt folder/a.txt\nlock folder/a.txt\nput next.txt folder/a.txt\nls folder");
    assert!(said.contains("a.txt"), "{said}");
    assert!(!said.contains("failed"), "{said}");
    assert_eq!(client.get("folder/a.txt").await.unwrap().text(), "two");
    assert_eq!(versions(&client, "folder/a.txt").await, ["2.0", "1.0"]);
    // REST refuses to change a document that cadaver left locked.
    let refused = client.put("folder/a.txt", b"three".to_vec()).await.unwrap();
    assert_eq!(
        (refused.status.as_u16(), refused.text().contains("open for editing by")),
        (423, true),
        "{}",
        refused.text()
    );
    let said =
        say("steal folder/a.txt\nunlock folder/a.txt\nmove folder/a.txt folder/b.txt\ncopy folder other\nrmcol folder");
    assert!(!said.contains("failed"), "{said}");
    assert_eq!(client.get("other/b.txt").await.unwrap().text(), "two");
    assert_eq!(client.get("folder/b.txt").await.unwrap().status.as_u16(), 404);
}

/// Sends the head of a request and a part of its body, closes the sending side, and returns the response.
fn cut_off(server: &Server, token: &str, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.host()).unwrap();
    let head = format!("{head} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n", server.host());
    stream.write_all(format!("{head}Content-Length: 100000\r\n\r\n").as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_stop_half_way_change_nothing() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    assert!(client.put("a.txt", b"one".to_vec()).await.unwrap().status.is_success());
    let patch =
        b"<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x xmlns='u'>1</x></D:prop></D:set></D:propertyupdate>";
    for (verb, body) in [
        ("PUT", &patch[..]),
        ("PROPPATCH", patch),
        ("LOCK", patch),
        ("PROPFIND", patch),
        ("REPORT", patch),
        ("SEARCH", patch),
    ] {
        for path in ["a.txt", "new.txt"] {
            let answer = cut_off(&server, &token, &format!("{verb} /dav/Documents/{path}"), body);
            assert!(!answer.starts_with("HTTP/1.1 2"), "{verb} {path}: {answer}");
        }
    }
    assert_eq!(client.get("a.txt").await.unwrap().text(), "one");
    assert_eq!(client.get("new.txt").await.unwrap().status.as_u16(), 404);
    assert_eq!(versions(&client, "a.txt").await, ["1.0"]);
    let asked = "<D:propfind xmlns:D='DAV:'><D:prop><x xmlns='u'/></D:prop></D:propfind>";
    let propfind = reqwest::Method::from_bytes(b"PROPFIND").unwrap();
    let text = client.send(propfind, "/dav/Documents/a.txt", asked.into()).await.unwrap().text();
    assert!(text.contains("404 Not Found"), "{text}");
    assert!(client.put("a.txt", b"two".to_vec()).await.unwrap().status.is_success(), "nothing is locked");
}

/// Peak memory of a process in KiB.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_of_xml_are_refused_and_not_kept() {
    const SIZE: usize = 100_000_000;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    assert!(client.put("a.txt", b"one".to_vec()).await.unwrap().status.is_success());
    // The search index takes memory for the document. That does not count as memory of requests either.
    wait_until_indexed(&client).await;
    let program = |id| processes::memory(id, "RssFile");
    let (before, program_before) = (peak_memory(server.pid()), program(server.pid()));
    for verb in ["PROPFIND", "PROPPATCH", "LOCK", "REPORT", "SEARCH"] {
        for announced in [true, false] {
            let mut stream = TcpStream::connect(server.host()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let length =
                if announced { format!("Content-Length: {SIZE}") } else { "Transfer-Encoding: chunked".into() };
            let head =
                format!("{verb} /dav/Documents/a.txt HTTP/1.1\r\nHost: {}\r\nDepth: 0\r\n{length}\r\n", server.host());
            stream.write_all(format!("{head}Authorization: Bearer {token}\r\n\r\n").as_bytes()).unwrap();
            let mut reading = stream.try_clone().unwrap();
            let answer = std::thread::spawn(move || {
                let mut start = [0; 12];
                reading.read_exact(&mut start).map(|()| String::from_utf8_lossy(&start).into_owned())
            });
            // The server may close the connection before it has received everything.
            let piece = vec![b' '; 1 << 20];
            for _ in 0..SIZE >> 20 {
                let sent = if announced { stream.write_all(&piece) } else { chunk(&mut stream, &piece) };
                if sent.is_err() {
                    break;
                }
            }
            assert_eq!(answer.join().unwrap().unwrap(), "HTTP/1.1 413", "{verb}, announced: {announced}");
        }
    }
    // Pages of the executable do not count as memory of requests.
    let grown =
        (peak_memory(server.pid()) - before).saturating_sub(program(server.pid()).saturating_sub(program_before));
    assert!(grown < 60_000, "it took {grown} KiB");
    assert_eq!(client.get("a.txt").await.unwrap().text(), "one");
    assert!(client.put("a.txt", b"two".to_vec()).await.unwrap().status.is_success(), "nothing is locked");
}

fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

/// Number of calls to BLOB stores so far.
async fn store_calls(client: &Client) -> u64 {
    let text = client.send(reqwest::Method::GET, "/metrics", Vec::new()).await.unwrap().text();
    let counts = text.lines().filter(|line| line.starts_with("strongroom_blob_") && line.contains("_seconds_count"));
    counts.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_and_searches_ask_no_store() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    for number in 0..5 {
        let path = format!("{number}.bin");
        assert!(client.put(&path, bytes(number, 300_000)).await.unwrap().status.is_success());
    }
    let search = "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:allprop/></D:select>\
        <D:from><D:scope><D:href></D:href>\
        </D:scope></D:from></D:basicsearch></D:searchrequest>";
    let before = store_calls(&client).await;
    assert!(before >= 5, "what was stored is counted");
    for (verb, body) in [("PROPFIND", ""), ("SEARCH", search)] {
        let request = reqwest::Client::new()
            .request(
                reqwest::Method::from_bytes(verb.as_bytes()).unwrap(),
                format!("{}/dav/Documents/", server.address),
            )
            .header("depth", "1")
            .basic_auth("admin", Some(PASSWORD))
            .body(body);
        let text = request.send().await.unwrap().text().await.unwrap();
        assert_eq!(text.matches("<D:getcontentlength>300000<").count(), 5, "{verb}: {text}");
    }
    assert_eq!(store_calls(&client).await, before);
    assert!(client.get("0.bin").await.unwrap().status.is_success());
    assert!(store_calls(&client).await > before, "what is read is counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_front_end_honours_a_lock() {
    let (content, configuration) =
        (database::testing::fresh_postgres().await, database::testing::fresh_postgres().await);
    let (one, other) = (Farm::with_databases(&content, &configuration), Farm::with_databases(&content, &configuration));
    let first = one.start();
    assert!(first.client(&one.token()).put("a.txt", b"one".to_vec()).await.unwrap().status.is_success());
    let second = other.start();
    let send = async |server: &Server, verb: &str, field: (&str, &str), body: &'static str| {
        reqwest::Client::new()
            .request(
                reqwest::Method::from_bytes(verb.as_bytes()).unwrap(),
                format!("{}/dav/Documents/a.txt", server.address),
            )
            .basic_auth("admin", Some(PASSWORD))
            .header(field.0, field.1)
            .body(body)
            .send()
            .await
            .unwrap()
    };
    let wish = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>\
        <D:locktype><D:write/></D:locktype></D:lockinfo>";
    let patch =
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x xmlns='u'>1</x></D:prop></D:set></D:propertyupdate>";
    let locked = send(&first, "LOCK", ("depth", "0"), wish).await;
    assert_eq!(locked.status().as_u16(), 200);
    let token = locked.headers()["lock-token"].to_str().unwrap().to_owned();
    assert_eq!(send(&second, "DELETE", ("depth", "infinity"), "").await.status().as_u16(), 423);
    assert_eq!(send(&second, "LOCK", ("depth", "0"), wish).await.status().as_u16(), 423);
    assert_eq!(send(&second, "PROPPATCH", ("depth", "0"), patch).await.status().as_u16(), 423);
    assert_eq!(send(&second, "PROPPATCH", ("if", &format!("({token})")), patch).await.status().as_u16(), 207);
    assert_eq!(send(&second, "UNLOCK", ("lock-token", &token), "").await.status().as_u16(), 204);
    assert_eq!(send(&first, "DELETE", ("depth", "infinity"), "").await.status().as_u16(), 204);
}
