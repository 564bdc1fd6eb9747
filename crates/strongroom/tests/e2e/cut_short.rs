//! Interrupted saves, and documents locked by another user. rclone, cadaver, davfs2 and gio leave the previous version
//! unchanged.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use database::Engine;
use reqwest::Method;

use crate::mounted::{can_mount, davfs, gio, until};
use crate::support::{Client, Farm, Server, bytes};
use crate::webdav::{rclone_command, run, versions};

/// Bytes that the lossy connection forwards. `LARGE` is the size of a save that exceeds them.
const PASSED: u64 = 1_000_000;
const LARGE: usize = 3_000_000;

/// A TCP proxy in front of the server that drops what a client sends after the first [`PASSED`] bytes of a connection.
struct LossyProxy {
    host: String,
    lossy: Arc<AtomicBool>,
}

impl LossyProxy {
    fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Self { host: listener.local_addr().unwrap().to_string(), lossy: Arc::default() };
        let (lossy, server) = (way.lossy.clone(), server.host().to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (lossy, server) = (lossy.clone(), server.clone());
                // Broken connections are expected in these tests.
                std::thread::spawn(move || forward(client, &server, &lossy).ok());
            }
        });
        way
    }

    fn is_lossy(&self) -> bool {
        self.lossy.load(Ordering::SeqCst)
    }
}

fn forward(mut client: TcpStream, server: &str, lossy: &AtomicBool) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || std::io::copy(&mut answers, &mut back).and_then(|_| back.shutdown(Shutdown::Both)));
    let passed = std::io::copy(&mut (&mut client).take(PASSED), &mut server)?;
    if passed == PASSED {
        lossy.store(true, Ordering::SeqCst);
        // Reads until the client disconnects.
        std::io::copy(&mut client, &mut std::io::sink())?;
    }
    server.shutdown(Shutdown::Both)
}

/// A farm with a document that has two versions.
async fn with_document() -> (Farm, Server, Client) {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    for content in ["one", "two"] {
        assert!(client.put("a.txt", content.into()).await.unwrap().status.is_success());
    }
    (farm, server, client)
}

async fn is_as_before(client: &Client) {
    assert_eq!(client.get("a.txt").await.unwrap().text(), "two");
    assert_eq!(versions(client, "a.txt").await, ["2.0", "1.0"]);
}

/// Starts a program and kills it in the middle of a save. The document must be unchanged and unlocked afterwards.
async fn ended_half_way(way: &LossyProxy, client: &Client, command: &mut Command, words: &str) {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(words.as_bytes()).unwrap();
    until("half of a save", async || way.is_lossy()).await;
    child.kill().unwrap();
    child.wait().unwrap();
    is_as_before(client).await;
    until("the end of the save", async || client.put("b.txt", b"x".to_vec()).await.unwrap().status.is_success()).await;
    is_as_before(client).await;
}

async fn lock(client: &Client) -> String {
    let id = serde_json::from_slice::<serde_json::Value>(
        &client.send(Method::GET, "/api/v1/items/by-path?path=Documents/a.txt", Vec::new()).await.unwrap().body,
    );
    let locks = format!("/api/v1/items/{}/locks", id.unwrap()["id"].as_str().unwrap());
    let given = client.send_json(Method::POST, &locks, &serde_json::json!({"seconds": 600})).await.unwrap();
    assert_eq!(given.status.as_u16(), 201, "{}", given.text());
    locks
}

#[tokio::test(flavor = "multi_thread")]
async fn rclone() {
    let (_farm, server, client) = with_document().await;
    let scratch = tempfile::tempdir().unwrap();
    let large = scratch.path().join("a.txt");
    std::fs::write(&large, bytes(1, LARGE)).unwrap();
    let locks = lock(&client).await;
    let refused = run(rclone_command(&server).args(["--low-level-retries", "1", "copy"]).arg(&large).arg(":webdav:"));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("423"), "{said}");
    is_as_before(&client).await;
    assert_eq!(client.send(Method::DELETE, &locks, Vec::new()).await.unwrap().status.as_u16(), 204);
    let way = LossyProxy::to(&server);
    let mut command = rclone_command(&server);
    command.args(["--webdav-url", &format!("http://{}/dav/Documents/", way.host), "copy"]).arg(&large).arg(":webdav:");
    ended_half_way(&way, &client, &mut command, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cadaver() {
    let (farm, server, client) = with_document().await;
    let scratch = tempfile::tempdir().unwrap();
    let login = format!("machine 127.0.0.1 login admin password {}\n", farm.token_named("cadaver"));
    std::fs::write(scratch.path().join(".netrc"), login).unwrap();
    std::fs::write(scratch.path().join("large.bin"), bytes(1, LARGE)).unwrap();
    let way = LossyProxy::to(&server);
    let mut command = Command::new("cadaver");
    command.arg(format!("http://{}/dav/Documents/", way.host)).env("HOME", scratch.path()).current_dir(scratch.path());
    ended_half_way(&way, &client, &mut command, "put large.bin a.txt\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gnome_files() {
    let (_farm, server, client) = with_document().await;
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("large.bin"), bytes(1, LARGE)).unwrap();
    let way = LossyProxy::to(&server);
    // The GNOME process that sends the data ends with its session.
    gio(&way.host, scratch.path(), r#"timeout -s KILL 10 gio save "$U/a.txt" <large.bin || true"#);
    assert!(way.is_lossy(), "nothing was sent");
    is_as_before(&client).await;
    lock(&client).await;
    let script = r#"if gio save "$U/a.txt" <large.bin 2>/dev/null; then echo written; else echo refused; fi"#;
    assert_eq!(gio(server.host(), scratch.path(), script).trim(), "refused");
    is_as_before(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn davfs2() {
    if !can_mount() {
        return;
    }
    let (_farm, server, client) = with_document().await;
    let drive = davfs(&server);
    let mut open = std::fs::OpenOptions::new().append(true).open(drive.path().join("a.txt")).unwrap();
    open.write_all(b" and three").unwrap();
    let place = drive.path().to_str().unwrap().to_owned();
    let programs = run(Command::new("pgrep").args(["-f", &format!("mount.davfs.*{place}")]));
    let programs = String::from_utf8(programs.stdout).unwrap();
    assert!(run(Command::new("kill").arg("-9").args(programs.split_whitespace())).status.success(), "{programs}");
    drop(open);
    run(Command::new("umount").args(["-i", "-l", &place]));
    is_as_before(&client).await;
    // The lock of the killed client remains until an administrator removes it.
    assert_eq!(client.put("a.txt", b"mine".to_vec()).await.unwrap().status.as_u16(), 423);
    let item = client.send(Method::GET, "/api/v1/items/by-path?path=Documents/a.txt", Vec::new()).await.unwrap();
    let id = serde_json::from_slice::<serde_json::Value>(&item.body).unwrap()["id"].as_str().unwrap().to_owned();
    let ended = client.send(Method::DELETE, &format!("/api/v1/items/{id}/locks"), Vec::new()).await.unwrap();
    assert_eq!(ended.status.as_u16(), 204);
    assert!(client.put("a.txt", b"mine".to_vec()).await.unwrap().status.is_success());
}
