//! Owns the means for tests on real databases of both engines: a PostgreSQL server for the test process, and fresh,
//! empty databases. Nothing here is part of the product.
//!
//! Everything panics instead of returning errors: a test that cannot get its server must fail, with the reason.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test without its database must fail, never go on")]

mod cluster;
mod server;

use std::future::Future;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use tokio_postgres::NoTls;

pub use cluster::Cluster;
pub use server::{Server, postgres};

use crate::{Database, Engine, Location, Options, Schema};

/// A database for one test. A SQLite file is removed when this value is dropped, a PostgreSQL database when its server
/// stops.
pub struct Fresh {
    /// Location.
    pub location: Location,
    _directory: Option<TempDir>,
}

/// Creates a new, empty database on the engine.
pub async fn fresh_database(engine: Engine) -> Fresh {
    match engine {
        Engine::Sqlite => {
            let directory = tempfile::tempdir().unwrap();
            let location = Location::Sqlite(directory.path().join("test.db"));
            Fresh { location, _directory: Some(directory) }
        }
        Engine::Postgres => {
            let location = Location::Postgres(fresh_postgres().await);
            Fresh { location, _directory: None }
        }
    }
}

/// Creates a new, empty database on the PostgreSQL server of this process and returns its address.
pub async fn fresh_postgres() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}_{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let server = tokio::task::spawn_blocking(postgres).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&server.address("postgres"), NoTls).await.unwrap();
    let carrier = tokio::spawn(connection);
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    drop(client);
    carrier.await.unwrap().unwrap();
    server.address(&name)
}

/// Opens a raw connection to one of the program's SQLite files, bypassing the program. Its writes still produce the
/// checksums that the program verifies.
pub fn open_file(path: &std::path::Path) -> rusqlite::Connection {
    crate::engine::open_file(path).unwrap()
}

/// Runs the test on a fresh database of each engine, one after another.
pub async fn each_engine<F, Fut>(schema: Schema, test: F)
where
    F: Fn(Database) -> Fut,
    Fut: Future<Output = ()>,
{
    for engine in [Engine::Sqlite, Engine::Postgres] {
        // Printed with a failure, to show the engine concerned.
        println!("on {}", engine.as_str());
        let fresh = fresh_database(engine).await;
        let database = Database::make(&fresh.location, schema, &Options::default()).await.unwrap();
        test(database.clone()).await;
        database.close().await;
    }
}
