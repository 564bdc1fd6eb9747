//! Behaviour with PostgreSQL: cut connections, unknown outcomes, deadlocks, unreachable servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use database::testing::{fresh_postgres, postgres};
use database::{Database, Location, Options, Reader, Schema, Sql, params};
use model::{Code, ErrorKind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_postgres::NoTls;

const CREATE: Sql = Sql::new("CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, size BIGINT NOT NULL)");
const INSERT: Sql = Sql::new("INSERT INTO thing (id, size) VALUES ($1, 0)");
const ADD: Sql = Sql::new("UPDATE thing SET size = size + 1 WHERE id = $1");
const SIZE: Sql = Sql::new("SELECT size FROM thing WHERE id = $1");
const COUNT: Sql = Sql::new("SELECT count(*) FROM thing");

/// Statements that tell whether they are planned with sorts: one that reads along an index, and another one.
const INDEXED: Sql = Sql::new("SELECT current_setting('enable_sort') ORDER BY {indexed 1}");
const SORTED: Sql = Sql::new("SELECT current_setting('enable_sort') ORDER BY 1");

async fn open(address: &str) -> Database {
    try_open(address, &Options::default()).await.unwrap()
}

async fn try_open(address: &str, options: &Options) -> Result<Database> {
    Database::make(&Location::parse(address).unwrap(), Schema::Content, options).await
}

async fn with_things(address: &str) -> Database {
    let db = open(address).await;
    db.write(|t| {
        t.execute(CREATE, &[])?;
        (1..=2i64).try_for_each(|id| t.execute(INSERT, &params![id]).map(drop))
    })
    .await
    .unwrap();
    db
}

async fn size(db: &Database, id: i64) -> i64 {
    db.read(move |r| r.find(SIZE, &params![id], |row| row.get(0))).await.unwrap().unwrap()
}

/// Cuts every connection to the database and returns once the server has ended them.
async fn cut_all(address: &str) {
    let name = address.rsplit('/').next().unwrap().to_owned();
    let (client, connection) = tokio_postgres::connect(&postgres().address("postgres"), NoTls).await.unwrap();
    let carrier = tokio::spawn(connection);
    let cut = "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE datname = $1";
    let count: i64 = client.query_one(cut, &[&name]).await.unwrap().get(0);
    assert!(count > 0);
    drop(client);
    carrier.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_were_cut_are_opened_again() {
    let address = fresh_postgres().await;
    let db = with_things(&address).await;
    for round in 1..=5i64 {
        cut_all(&address).await;
        assert_eq!(size(&db, 1).await, round - 1);
        cut_all(&address).await;
        db.write(|t| t.execute(ADD, &params![1i64])).await.unwrap();
        assert_eq!(size(&db, 1).await, round);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_was_cut_before_its_commit_is_run_again() {
    let address = fresh_postgres().await;
    let db = with_things(&address).await;
    let runs = Arc::new(AtomicU32::new(0));
    let (to_test, begun) = mpsc::channel::<()>();
    let (go_on, cut) = mpsc::channel::<()>();
    let cut = std::sync::Mutex::new(cut);
    let writing = tokio::spawn({
        let (db, runs) = (db.clone(), Arc::clone(&runs));
        async move {
            db.write(move |t| {
                t.execute(ADD, &params![1i64])?;
                if runs.fetch_add(1, Ordering::Relaxed) == 0 {
                    to_test.send(()).unwrap();
                    cut.lock().unwrap().recv().unwrap();
                }
                t.execute(ADD, &params![2i64])
            })
            .await
        }
    });
    let begun = tokio::task::spawn_blocking(move || begun.recv().map(|()| begun)).await.unwrap().unwrap();
    cut_all(&address).await;
    go_on.send(()).unwrap();
    assert_eq!(writing.await.unwrap().unwrap(), 1);
    drop(begun);
    assert_eq!((size(&db, 1).await, size(&db, 2).await, runs.load(Ordering::Relaxed)), (1, 1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_was_cut_is_unavailable_and_the_next_one_works() {
    let address = fresh_postgres().await;
    let db = with_things(&address).await;
    let (to_test, begun) = mpsc::channel::<()>();
    let (go_on, cut) = mpsc::channel::<()>();
    let reading = tokio::spawn({
        let db = db.clone();
        async move {
            db.read(move |r| {
                r.find(SIZE, &params![1i64], |row| row.get::<i64>(0))?;
                to_test.send(()).unwrap();
                cut.recv().unwrap();
                r.find(SIZE, &params![2i64], |row| row.get::<i64>(0))
            })
            .await
        }
    });
    tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();
    cut_all(&address).await;
    go_on.send(()).unwrap();
    let error = reading.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::ServerUnreachable));
    assert_eq!(size(&db, 1).await, 0);
}

/// A proxy between the program and the server that can cut the connection when a COMMIT passes.
struct Shim {
    directory: tempfile::TempDir,
    armed: Arc<AtomicBool>,
}

impl Shim {
    /// With `deliver` the server receives the COMMIT and only its response is lost.
    fn start(server: PathBuf, deliver: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let armed = Arc::new(AtomicBool::new(false));
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        tokio::spawn({
            let armed = Arc::clone(&armed);
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    let (server, armed) = (server.clone(), Arc::clone(&armed));
                    tokio::spawn(async move { carry(client, &server, &armed, deliver).await });
                }
            }
        });
        Self { directory, armed }
    }

    fn address(&self, real: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:5432/{}", real.rsplit('/').next().unwrap())
    }
}

async fn carry(mut client: UnixStream, server: &Path, armed: &AtomicBool, deliver: bool) {
    let mut server = UnixStream::connect(server).await.unwrap();
    let (mut up, mut down) = (vec![0u8; 65536], vec![0u8; 65536]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(count @ 1..) = read else { return };
                let commits = up[..count].windows(7).any(|text| text == b"COMMIT\0");
                if commits && armed.swap(false, Ordering::Relaxed) {
                    if deliver {
                        server.write_all(&up[..count]).await.unwrap();
                        // The response proves that the server has executed it.
                        assert!(server.read(&mut down).await.unwrap() > 0);
                    }
                    return;
                }
                server.write_all(&up[..count]).await.unwrap();
            }
            read = server.read(&mut down) => {
                let Ok(count @ 1..) = read else { return };
                client.write_all(&down[..count]).await.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_is_unknown_is_told_and_never_retried() {
    for deliver in [true, false] {
        let real = fresh_postgres().await;
        let shim = Shim::start(postgres().socket(), deliver);
        let db = with_things(&shim.address(&real)).await;
        shim.armed.store(true, Ordering::Relaxed);
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let outcome = db.write(move |t| {
            counted.fetch_add(1, Ordering::Relaxed);
            t.execute(ADD, &params![1i64])
        });
        let error = outcome.await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::OutcomeUnknown), "{error:?}");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        assert_eq!(size(&db, 1).await, i64::from(deliver));
        db.write(|t| t.execute(ADD, &params![1i64])).await.unwrap();
        assert_eq!(size(&db, 1).await, i64::from(deliver) + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_resolved_by_running_one_of_them_again() {
    let address = fresh_postgres().await;
    let db = with_things(&address).await;
    let both_hold_one = Arc::new(Barrier::new(2));
    let runs = Arc::new(AtomicU32::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for order in [[1i64, 2], [2, 1]] {
        let (db, barrier, runs) = (db.clone(), Arc::clone(&both_hold_one), Arc::clone(&runs));
        let mut first = true;
        tasks.spawn(async move {
            db.write(move |t| {
                runs.fetch_add(1, Ordering::Relaxed);
                t.execute(ADD, &params![order[0]])?;
                if std::mem::take(&mut first) {
                    barrier.wait();
                }
                t.execute(ADD, &params![order[1]])
            })
            .await
        });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert_eq!((size(&db, 1).await, size(&db, 2).await, runs.load(Ordering::Relaxed)), (2, 2, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_another_process_made_stale_is_prepared_again() {
    let address = fresh_postgres().await;
    let db = with_things(&address).await;
    const ALL: Sql = Sql::new("SELECT * FROM thing ORDER BY id");
    let columns = |db: Database| async move {
        let read = db.read(|r| r.query(ALL, &[], |row| row.get::<i64>(1))).await.unwrap();
        let written = db.write(|t| t.query(ALL, &[], |row| row.get::<i64>(1))).await.unwrap();
        assert_eq!(read, written);
        read
    };
    let one = Options { connections: 2, ..Options::default() };
    let db2 = try_open(&address, &one).await.unwrap();
    // Repeated until both of its connections have prepared the statement.
    for _ in 0..4 {
        assert_eq!(columns(db2.clone()).await, [0, 0]);
    }
    db.write(|t| t.execute(Sql::new("ALTER TABLE thing ADD COLUMN more BIGINT"), &[])).await.unwrap();
    for _ in 0..4 {
        assert_eq!(columns(db2.clone()).await, [0, 0]);
    }
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_told_apart() {
    let options = Options { patience: Duration::from_millis(300), ..Options::default() };
    let nobody = tempfile::tempdir().unwrap();
    let silent = format!("postgres://x@{}/y", nobody.path().display().to_string().replace('/', "%2F"));
    let started = Instant::now();
    let error = try_open(&silent, &options).await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::ServerUnreachable));
    assert!(started.elapsed() < Duration::from_secs(5));

    let address = fresh_postgres().await;
    let missing = address.rsplit_once('/').unwrap().0.to_owned() + "/no_such_database";
    let error = try_open(&missing, &options).await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::NoSuchDatabase));
    assert!(error.report().contains("no_such_database"), "{error}");
    assert!(!error.message().contains("no_such_database"), "{error}");

    let error = Location::parse("postgres://a:s3cret@b/c?sslmode=require").unwrap_err();
    assert_eq!(error.code(), "tls_unsupported");
    assert!(!error.message().contains("s3cret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_may_upgrade_at_once() {
    let address = fresh_postgres().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let address = address.clone();
        tasks.spawn(async move { open(&address).await.close().await });
    }
    tasks.join_all().await;
    let db = with_things(&address).await;
    let count = db.read(|r| r.find(COUNT, &[], |row| row.get::<i64>(0))).await.unwrap();
    assert_eq!(count, Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_too_slowly_gives_up_short_reads_and_nothing_else() {
    // sleep: simulates a slow server; the test itself does not wait for it
    const SLOW_QUERY: Sql = Sql::new("SELECT count(*) FROM thing, pg_sleep(300)");
    // sleep: as above
    const SHORT: Sql = Sql::new("SELECT count(*) FROM thing, pg_sleep(2)");
    let address = fresh_postgres().await;
    drop(with_things(&address).await);
    let options = Options { statement: Duration::from_millis(500), connections: 2, ..Options::default() };
    let db = try_open(&address, &options).await.unwrap();
    let slowly = |sql: Sql| move |r: &mut Reader<'_>| r.find(sql, &[], |row| row.get::<i64>(0));
    for refused in [db.read(slowly(SLOW_QUERY)).await, db.read_one(slowly(SLOW_QUERY)).await] {
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::Cancelled), "{error:?}");
        assert_eq!(size(&db, 1).await, 0, "the connection serves on");
    }
    assert_eq!(db.read_long(slowly(SHORT)).await.unwrap(), Some(2));
    let written = db.write(|t| {
        t.query(SHORT, &[], |row| row.get::<i64>(0))?;
        t.execute(ADD, &params![1i64])
    });
    written.await.unwrap();
    assert_eq!(size(&db, 1).await, 1);
}

/// Where no index has the order of a statement, a plan without a sort goes through a whole table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_statements_along_an_index_are_planned_without_sorts() {
    let db = open(&fresh_postgres().await).await;
    let setting = |r: &mut Reader<'_>, sql| r.find(sql, &[], |row| row.get::<String>(0)).map(Option::unwrap);
    for _ in 0..8 {
        let read = db.read(move |r| Ok([setting(r, SORTED)?, setting(r, INDEXED)?, setting(r, SORTED)?]));
        assert_eq!(read.await.unwrap(), ["on", "off", "on"]);
        assert_eq!(db.read_one(move |r| setting(r, INDEXED)).await.unwrap(), "off");
        assert_eq!(db.read_one(move |r| setting(r, SORTED)).await.unwrap(), "on");
        let written = db.write(move |t| Ok([setting(t, SORTED)?, setting(t, INDEXED)?, setting(t, SORTED)?]));
        assert_eq!(written.await.unwrap(), ["on", "off", "on"]);
        // A transaction that fails leaves nothing behind.
        let failed = db.write(move |t| {
            setting(t, INDEXED)?;
            t.execute(ADD, &params![1i64]).map(drop)
        });
        assert!(failed.await.is_err(), "there is no such table");
    }
}
