//! Conditions that the server must refuse clearly and without harm: a data directory that is in use, read-only or too
//! new, damaged bytes, and interrupted uploads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use database::Engine;
use reqwest::StatusCode;

use crate::support::{Disk, Farm, bytes, files_below};

/// Asserts that the server refuses to start, with a message that contains all the words.
fn refused(farm: &Farm, words: &[&str]) {
    let Err(refusal) = farm.try_start() else { panic!("the server starts, but must refuse to") };
    assert_eq!(refusal.status.code(), Some(2), "{}", refusal.output);
    for word in words {
        assert!(refusal.output.contains(word), "the refusal does not say \"{word}\": {}", refusal.output);
    }
    assert!(!refusal.output.contains("panicked"), "{}", refusal.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_a_data_directory_is_refused_and_harms_nothing() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    assert!(client.put("a.bin", bytes(1, 50_000)).await.unwrap().status.is_success());
    refused(&farm, &["another server", farm.data.to_str().unwrap()]);
    assert!(client.get("a.bin").await.unwrap().body == bytes(1, 50_000));
    assert!(client.put("b.bin", bytes(2, 50_000)).await.unwrap().status.is_success());
    server.kill();
    farm.start();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_refused_before_anything_is_made_or_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_strongroom"));
    let ended = command.args(["serve", "--listen", &address, "--data"]).arg(&data).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains(&address), "{said}");
    assert!(said.contains("another program uses it"), "{said}");
    assert!(ended.stdout.is_empty(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert!(!data.exists(), "a farm was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_on_a_disk_that_is_not_mounted_names_the_place_and_makes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let farm = Farm::at(scratch.path().join("unmounted"));
    std::fs::create_dir(&farm.data).unwrap();
    for words in [&["blobs", "check"][..], &["blobs", "status"], &["backup", "/nowhere"]] {
        let said = farm.run(words).unwrap_err().output;
        let place = farm.data.to_str().unwrap();
        assert!(said.contains(place), "{words:?}: {said}");
        assert!(said.contains("no farm"), "{words:?}: {said}");
        assert!(said.contains("mounted"), "{words:?}: {said}");
        assert!(!said.contains("serve"), "{words:?}: {said}");
        assert_eq!(files_below(&farm.data), Vec::<std::path::PathBuf>::new(), "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_data_directory_is_refused_with_its_name() {
    let disk = Disk::tmpfs(64);
    let farm = Farm::at(disk.path().join("data"));
    let server = farm.start();
    let token = farm.token();
    assert!(server.client(&token).put("a.bin", bytes(1, 50_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    disk.remount("ro");
    refused(&farm, &[farm.data.to_str().unwrap(), "read-only"]);
    disk.remount("rw");
    let server = farm.start();
    assert!(server.client(&token).get("a.bin").await.unwrap().body == bytes(1, 50_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_a_newer_version_is_refused_and_left_alone() {
    for file in ["configuration.sqlite", "databases/main.sqlite"] {
        let farm = Farm::on(Engine::Sqlite).await;
        assert!(farm.start().stop().success());
        let path = farm.data.join(file);
        let connection = database::testing::open_file(&path);
        let newer = "INSERT INTO schema_history (version, name, schema_name, applied_at) \
                     SELECT max(version) + 1, 'from the future', schema_name, applied_at FROM schema_history GROUP BY \
                     schema_name";
        connection.execute(newer, []).unwrap();
        connection.close().unwrap();
        let before = std::fs::read(&path).unwrap();
        refused(&farm, &["newer", file.rsplit('/').next().unwrap()]);
        assert!(std::fs::read(&path).unwrap() == before, "{file} was changed by a version that must not touch it");
    }
}

/// Flips one bit in the middle of `content`, in the file of the BLOB store that holds it.
fn damage(farm: &Farm, content: &[u8]) {
    let middle = &content[content.len() / 2..content.len() / 2 + 64];
    for path in files_below(&farm.data.join("blobs")) {
        let mut held = std::fs::read(&path).unwrap();
        if let Some(at) = held.windows(middle.len()).position(|window| window == middle) {
            held[at] ^= 1;
            std::fs::write(&path, held).unwrap();
            return;
        }
    }
    panic!("no file of the store holds these bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_bytes_are_never_delivered_as_good() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let documents = [("small.bin", 100_000), ("other.bin", 100_001), ("large.bin", 30_000_000)];
    for (path, size) in documents {
        let answer = server.client(&token).put(path, bytes(7, size)).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    assert!(server.stop().success());
    damage(&farm, &bytes(7, 100_000));
    damage(&farm, &bytes(7, 30_000_000));

    let server = farm.start();
    let client = server.client(&token);
    for (path, size) in [documents[0], documents[2]] {
        // The result is either an error response or a body that breaks off, never a complete response with different
        // bytes.
        if let Ok(answer) = client.get(path).await {
            assert!(!answer.status.is_success(), "{path} of {size} bytes was delivered as good");
            assert!(answer.status.is_server_error(), "{path}: {} {}", answer.status, answer.text());
        }
    }
    assert!(client.get("other.bin").await.unwrap().body == bytes(7, 100_001), "its neighbour is unharmed");
    assert!(client.put("new.bin", bytes(8, 100_000)).await.unwrap().status.is_success());

    let Err(refusal) = farm.run(&["blobs", "check", "--json"]) else { panic!("blobs check found nothing") };
    assert_eq!(refusal.status.code(), Some(1), "{}", refusal.output);
    for (path, found) in [("small.bin", true), ("other.bin", false), ("large.bin", true)] {
        assert_eq!(refusal.output.contains(path), found, "{path}: {}", refusal.output);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_short_leaves_nothing() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let body = bytes(3, 200_000);
    for (number, sent) in [0, 1, 4_095, 4_096, 65_536, 199_999].into_iter().enumerate() {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        let head = format!(
            "PUT /api/v1/content/Documents/cut/{number}.bin HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body[..sent]).unwrap();
        // The server sees the end of the stream before the end of the body.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.starts_with("HTTP/1.1 2"), "an upload cut after {sent} bytes was acknowledged: {answer}");
        let read = client.get(&format!("cut/{number}.bin")).await.unwrap();
        assert_eq!(read.status, StatusCode::NOT_FOUND, "cut after {sent} bytes: {}", read.text());
    }
    let incoming: Vec<_> = files_below(&farm.data.join("blobs/incoming"));
    assert!(incoming.is_empty(), "left behind: {incoming:?}");
}

/// Sends `sent` on a connection and reads the head of the response.
fn head_of_answer(stream: &mut TcpStream, sent: &str) -> String {
    stream.write_all(sent.as_bytes()).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_before_the_body_says_that_the_connection_ends() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    for path in ["/api/v1/content/Nowhere/a.bin", "/dav/Nowhere/a.bin"] {
        let put = |length: usize, more: &str| {
            format!(
                "PUT {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: \
                {length}\r\n{more}\r\n",
                server.host()
            )
        };
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // The server does not request an unwanted body, and closes the connection.
        let head = head_of_answer(&mut stream, &put(50_000_000, "Expect: 100-continue\r\n"));
        assert!(head.starts_with("http/1.1 4"), "{head}");
        assert!(head.contains("connection: close"), "{head}");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        // If the body was already sent, the connection stays open.
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = head_of_answer(&mut stream, &format!("{}body", put(4, "")));
        assert!(head.starts_with("http/1.1 4"), "{head}");
        assert!(!head.contains("connection: close"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_everything_before_reading_hears_why_it_was_refused() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let body = bytes(1, 40_000_000);
    for (path, token, status) in [
        ("/api/v1/content/Nowhere/a.bin", token.as_str(), "409"),
        ("/api/v1/content/Documents/a.bin", "no-token", "401"),
        ("/dav/Nowhere/a.bin", token.as_str(), "409"),
        ("/no-page-at-all", token.as_str(), "404"),
    ] {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
            server.host(),
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{path}: {answer}");
    }
}
