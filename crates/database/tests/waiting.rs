//! Reads that wait for a connection or a disk do not block other work.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use database::testing::fresh_database;
use database::{Database, Engine, Options, Reader, Schema, Sql};
use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ONE: Sql = Sql::new("SELECT CAST(1 AS BIGINT)");

/// A runtime configured like that of the server.
fn runtime() -> tokio::runtime::Runtime {
    let threads = database::runtime_threads();
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

#[test]
fn reads_that_nobody_polls_keep_nobody_from_reading() {
    runtime().block_on(leave_reads_unpolled(database::runtime_threads() as u32 - 1));
}

/// Leaves waiting reads unpolled and requires that others still run. `short` is the number of short reads of a SQLite
/// file that run at once.
async fn leave_reads_unpolled(short: u32) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let fresh = fresh_database(engine).await;
        let options = Options { connections: 4, patience: Duration::from_secs(10), ..Options::default() };
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        for long in [false, true] {
            let read = async |db: &Database| match long {
                false => db.read(|r| r.find(ONE, &[], |row| row.get::<i64>(0))).await,
                true => db.read_long(|r| r.find(ONE, &[], |row| row.get::<i64>(0))).await,
            };
            let most = match (engine, long) {
                (Engine::Sqlite, false) => short,
                (Engine::Sqlite, true) => options.readers as u32 / 2,
                (Engine::Postgres, false) => options.connections as u32,
                (Engine::Postgres, true) => options.connections as u32 / 2,
            };
            // All connections are in use, so that further reads have to wait.
            let (release, held) = mpsc::channel::<()>();
            let held = Arc::new(Mutex::new(held));
            let running = Arc::new(AtomicU32::new(0));
            let mut holders = tokio::task::JoinSet::new();
            for _ in 0..most + 4 {
                let (db, held, running) = (db.clone(), Arc::clone(&held), Arc::clone(&running));
                let hold = move |_: &mut Reader<'_>| {
                    running.fetch_add(1, Ordering::Relaxed);
                    // Returns when the sender is dropped.
                    let _ = held.lock().unwrap().recv();
                    Ok(())
                };
                holders.spawn(async move { if long { db.read_long(hold).await } else { db.read(hold).await } });
            }
            while running.load(Ordering::Relaxed) < most {
                tokio::task::yield_now().await;
            }
            let mut unpolled: Vec<_> = (0..64).map(|_| Box::pin(read(&db))).collect();
            for waiting in &mut unpolled {
                assert!(waiting.now_or_never().is_none());
            }
            drop(release);
            assert!(holders.join_all().await.iter().all(Result::is_ok));
            assert_eq!(read(&db).await.unwrap(), Some(1), "{engine:?}, long: {long}");
            drop(unpolled);
            assert_eq!(read(&db).await.unwrap(), Some(1), "{engine:?}, long: {long}");
        }
        db.close().await;
    }
}

/// Echoes each byte; an `r` only after a read of the database has ended.
async fn echo(mut stream: TcpStream, db: Database, held: Arc<Mutex<mpsc::Receiver<()>>>, reading: Arc<AtomicU32>) {
    while let Ok(byte) = stream.read_u8().await {
        if byte == b'r' {
            let (held, reading) = (Arc::clone(&held), Arc::clone(&reading));
            let wait = move |_: &mut Reader<'_>| {
                reading.fetch_add(1, Ordering::SeqCst);
                held.lock().unwrap().recv().unwrap();
                Ok(())
            };
            db.read(wait).await.unwrap();
        }
        stream.write_u8(byte).await.unwrap();
    }
}

#[test]
fn connections_are_served_while_a_read_waits() {
    let runtime = runtime();
    let (release, held) = mpsc::channel::<()>();
    let (held, reading) = (Arc::new(Mutex::new(held)), Arc::new(AtomicU32::new(0)));
    let fresh = runtime.block_on(fresh_database(Engine::Sqlite));
    let options = Options::default();
    let db = runtime.block_on(Database::make(&fresh.location, Schema::Content, &options)).unwrap();
    // The first read comes from another runtime, since jobs use a runtime of their own.
    let jobs = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(jobs.block_on(db.read(|r| r.find(ONE, &[], |row| row.get::<i64>(0)))).unwrap(), Some(1));
    drop(jobs);
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let (server, counted) = (db.clone(), Arc::clone(&reading));
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream, server.clone(), Arc::clone(&held), Arc::clone(&counted)));
        }
    });
    let connect = || {
        let stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    };
    let exchange = |stream: &mut std::net::TcpStream| {
        let mut answer = [0];
        stream.write_all(b"e").and_then(|()| stream.read_exact(&mut answer))
    };
    let (mut reader, mut other) = (connect(), connect());
    exchange(&mut other).unwrap();
    for round in 0..20 {
        exchange(&mut reader).unwrap();
        reader.write_all(b"r").unwrap();
        while reading.load(Ordering::SeqCst) == round {
            std::thread::yield_now();
        }
        let served = exchange(&mut other);
        release.send(()).unwrap();
        assert!(served.is_ok(), "round {round}: the other connection waits for the read");
        reader.read_exact(&mut [0]).unwrap();
    }
    runtime.block_on(db.close());
}
