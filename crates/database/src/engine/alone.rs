//! Owns the right to do alone, among all processes that use a database, what two must not do at the same time. It ends with the
//! process that has it, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use model::{Error, Result};
use tokio_postgres::Client;

use super::at::At;

/// The right, as long as it is held.
pub struct Alone(Held);

pub(super) enum Held {
    /// The lock on a file beside the database, `NAME-PURPOSE`.
    File(#[expect(dead_code, reason = "the lock ends when the file is closed")] File),
    /// An advisory lock of a connection to the server.
    Session(Client),
}

impl Alone {
    pub(super) fn beside(database: &Path, purpose: &'static str) -> Result<Option<Self>> {
        let mut place = database.as_os_str().to_owned();
        place.push("-");
        place.push(purpose);
        let failed = |error: std::io::Error| {
            Error::unavailable(format!("the file {} cannot be locked: {error}", Path::new(&place).display()))
                .with_source(error)
        };
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&place).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(Held::File(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    pub(super) async fn of_session(client: Client, purpose: &'static str, server: &str) -> Result<Option<Self>> {
        const LOCK: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
        let row = client
            .query_one(LOCK, &[&purpose])
            .await
            .map_err(|error| lost(server).with_source(At::new(server, error)))?;
        let held: bool = row.try_get(0).map_err(|error| lost(server).with_source(At::new(server, error)))?;
        Ok(held.then_some(Self(Held::Session(client))))
    }

    /// Whether the right is still held: asked right before what must be done alone.
    ///
    /// # Errors
    /// Unavailable when it was lost with the connection to the server.
    pub async fn require(&self) -> Result<()> {
        match &self.0 {
            Held::File(_) => Ok(()),
            Held::Session(client) => {
                let asked = client.simple_query("SELECT 1").await;
                asked.map(drop).map_err(|error| lost("the database server").with_source(error))
            }
        }
    }
}

fn lost(server: &str) -> Error {
    Error::unavailable("the connection to a database server was lost; the work goes on when it is there again")
        .with_code("right_lost")
        .with_source(At::silent(server))
}
