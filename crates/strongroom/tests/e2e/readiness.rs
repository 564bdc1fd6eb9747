//! Readiness of a server while PostgreSQL becomes unavailable and returns.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use database::Engine;
use database::testing::{Cluster, fresh_postgres, postgres};
use reqwest::{Method, StatusCode};
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::support::{Client, Farm, Injector, bytes};

/// Timeout for the server to notice a change on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, PartialEq)]
enum ProxyState {
    Open,
    /// Accepts connections and data, but never responds.
    Silent,
    Closed,
}

/// Starts a proxy for PostgreSQL with its socket in this directory.
fn start_postgres_proxy(directory: &Path) -> watch::Sender<ProxyState> {
    let (sender, gate) = watch::channel(ProxyState::Open);
    let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
    tokio::spawn(async move {
        loop {
            let Ok((client, _)) = listener.accept().await else { return };
            tokio::spawn(pass(client, gate.clone()));
        }
    });
    sender
}

async fn pass(mut client: UnixStream, mut gate: watch::Receiver<ProxyState>) {
    if *gate.borrow() == ProxyState::Open {
        let Ok(mut server) = UnixStream::connect(postgres().socket()).await else { return };
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
            _ = gate.wait_for(|gate| *gate != ProxyState::Open) => {}
        }
    }
    let _ = gate.wait_for(|gate| *gate != ProxyState::Silent).await;
}

/// Queries `/readyz`. Also checks that `/healthz` reports a live process.
async fn ready(client: &Client) -> (StatusCode, String) {
    let alive = client.send(Method::GET, "/healthz", Vec::new()).await.unwrap();
    assert_eq!(alive.status, StatusCode::OK);
    let begun = Instant::now();
    let answer = client.send(Method::GET, "/readyz", Vec::new()).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "readiness was waited for {:?}", begun.elapsed());
    (answer.status, answer.text())
}

async fn wait_for(client: &Client, status: StatusCode) -> String {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let (said, text) = ready(client).await;
        if said == status {
            return text;
        }
        assert!(Instant::now() < deadline, "{said} and not {status}: {text}");
        // sleep: polled, since readiness changes without a notification
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_not_ready_while_postgres_gives_no_answer_and_ready_when_it_does() {
    let place = tempfile::tempdir().unwrap();
    let gate = start_postgres_proxy(place.path());
    let word = |path: &Path| path.display().to_string().replace('/', "%2F");
    let through = |address: String| address.replace(&word(postgres().socket().parent().unwrap()), &word(place.path()));
    let (content, configuration) = (through(fresh_postgres().await), through(fresh_postgres().await));
    // One farm has all its databases on PostgreSQL, the other only its content.
    for farm in [Farm::with_databases(&content, &configuration), Farm::with_content(&through(fresh_postgres().await))] {
        let server = farm.start();
        let client = server.client("");
        let signed_in = server.client(&farm.token());
        assert_eq!(ready(&client).await, (StatusCode::OK, "ready\n".to_owned()));
        for away in [ProxyState::Closed, ProxyState::Silent] {
            gate.send_replace(away);
            let text = wait_for(&client, StatusCode::SERVICE_UNAVAILABLE).await;
            assert!(text.starts_with("not ready\nthe con"), "{text}");
            assert!(text.ends_with(": it does not answer\n"), "{text}");
            assert_eq!(ready(&client).await.0, StatusCode::SERVICE_UNAVAILABLE);
            // Requests fail within a bounded time, and the error does not reveal the databases' locations.
            let begun = Instant::now();
            let answer = signed_in.get("never.bin").await.unwrap();
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
            assert!(begun.elapsed() < Duration::from_secs(25), "a document was waited for {:?}", begun.elapsed());
            assert!(!answer.text().contains("postgres://"), "{}", answer.text());
            gate.send_replace(ProxyState::Open);
            wait_for(&client, StatusCode::OK).await;
        }
        assert!(server.stop().success());
    }
}

/// A private PostgreSQL server whose processes can all be stopped by a signal at any moment.
struct PausablePostgres {
    cluster: Cluster,
    directory: std::path::PathBuf,
    _scratch: tempfile::TempDir,
}

impl PausablePostgres {
    fn start() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let directory = scratch.path().join("cluster");
        // Created and run as the same user as the shared PostgreSQL server.
        let owner = std::fs::metadata(postgres().socket()).unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::os::unix::fs::chown(&directory, Some(owner.uid()), Some(owner.gid())).unwrap();
        let mut command = Command::new("sh");
        command.uid(owner.uid()).gid(owner.gid()).current_dir("/");
        let text = "exec $(ls /usr/lib/postgresql/*/bin/initdb | sort -V | tail -1) -D \"$0\" -U postgres -A trust -E \
            UTF8 \
                    --locale=C.UTF-8 --no-sync";
        let made = command.args(["-c", text]).arg(&directory).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { cluster: Cluster::start(&directory, &[]), directory, _scratch: scratch }
    }

    /// Creates a database and returns its URL.
    fn database(&self, name: &str) -> String {
        let address = self.cluster.address("postgres");
        let made = Command::new("psql").args(["-X", "-q", "-c", &format!("CREATE DATABASE {name}"), &address]).output();
        let made = made.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        self.cluster.address(name)
    }

    fn signal(&self, signal: Signal) {
        let text = std::fs::read_to_string(self.directory.join("postmaster.pid")).unwrap();
        let first: i32 = text.lines().next().unwrap().parse().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
        for pid in std::iter::once(first).chain(children.split_whitespace().map(|pid| pid.parse().unwrap())) {
            // A child process may have exited in the meantime.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
        }
    }
}

impl Drop for PausablePostgres {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_that_is_frozen_keeps_nobody_waiting_and_loses_nothing() {
    let freezer = PausablePostgres::start();
    let farm = Farm::with_databases(&freezer.database("content"), &freezer.database("configuration"));
    let server = farm.start();
    let (client, signed_in) = (server.client(""), server.client(&farm.token()));
    assert!(signed_in.put("before.bin", bytes(1, 300_000)).await.unwrap().status.is_success());
    let under_way: Vec<_> = (0..8u64)
        .map(|seed| {
            let client = signed_in.clone();
            tokio::spawn(async move {
                let mut stored = Vec::new();
                for round in 0.. {
                    let (name, content) = (format!("{seed}-{round}.bin"), bytes(seed << 32 | round, 20_000));
                    let begun = Instant::now();
                    let answer = client.put(&name, content.clone()).await.unwrap();
                    assert!(begun.elapsed() < TIMEOUT, "{name} was waited for {:?}", begun.elapsed());
                    if answer.status != StatusCode::CREATED {
                        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
                        break;
                    }
                    stored.push((name, content));
                }
                stored
            })
        })
        .collect();
    // sleep: the server is to be stopped in the middle of transactions
    tokio::time::sleep(Duration::from_millis(500)).await;
    freezer.signal(Signal::STOP);
    let text = wait_for(&client, StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(text.contains("does not answer"), "{text}");
    let mut stored = vec![("before.bin".to_owned(), bytes(1, 300_000))];
    for load in under_way {
        stored.extend(load.await.unwrap());
    }
    assert_eq!(signed_in.get("before.bin").await.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
    freezer.signal(Signal::CONT);
    wait_for(&client, StatusCode::OK).await;
    for (name, content) in stored {
        let answer = signed_in.get(&name).await.unwrap();
        assert!(answer.status == StatusCode::OK, "{name}: {}", answer.status);
        assert!(answer.body == content, "{name}: {}", answer.status);
    }
    assert!(signed_in.put("after.bin", bytes(2, 300_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_database_the_disk_cannot_read_says_so_while_it_does() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    for number in 0..300 {
        let answer = server.client(&token).put(&format!("f{number}/d.txt"), bytes(number, 3_000)).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    assert!(server.stop().success());
    let server = farm.start();
    let (client, signed_in) = (server.client(""), server.client(&token));
    let paths = ["databases/main.sqlite", "databases/main.sqlite-wal"].map(|name| farm.data.join(name));
    let log = farm.data.with_file_name("strace");
    assert_eq!(ready(&client).await.0, StatusCode::OK);
    let injector = Injector::attach(&server, "pread64", "EIO", "1+", &paths, &log);
    let mut failed = 0;
    for number in 0..300 {
        let answer = signed_in.get(&format!("f{number}/d.txt")).await.unwrap();
        if answer.status != StatusCode::OK {
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
            failed += 1;
        }
    }
    assert!(failed > 0, "no read of the database failed: the test does not test");
    let (status, text) = ready(&client).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{text}");
    assert!(text.contains("the content database \"main\": a part of it cannot be read from its disk"), "{text}");
    assert!(!injector.detach().is_empty());
    let health = signed_in.send(Method::GET, "/api/v1/farm/health", Vec::new()).await.unwrap().text();
    assert!(health.contains("A part of it cannot be read from its disk"), "{health}");
    for number in 0..300 {
        assert!(signed_in.get(&format!("f{number}/d.txt")).await.unwrap().body == bytes(number, 3_000), "{number}");
    }
    // Readiness reports the failure for a minute and no longer.
    wait_for(&client, StatusCode::OK).await;
}
