//! Owns the exclusive right to some work, among all processes that use a database. The right ends with the process that
//! holds it, however that process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};
use tokio_postgres::Client;

use super::at::ErrorLocation;

/// An exclusive right, until it is released or dropped.
pub struct ExclusiveRight(ExclusiveLock);

/// The connection of the last request for the right, kept for the next caller.
pub(super) type Spare = Arc<Mutex<Option<Client>>>;

/// Takes the spare connection, if there is one and it is still open.
pub(super) fn take(spare: &Spare) -> Option<Client> {
    spare.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|client| !client.is_closed())
}

fn keep(spare: &Spare, client: Client) {
    *spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
}

pub(super) enum ExclusiveLock {
    /// A lock on the file `NAME-PURPOSE` beside the database.
    File(#[expect(dead_code, reason = "the lock ends when the file is closed")] File),
    /// A session-level advisory lock on the server, which ends with its connection.
    Session { client: Client, purpose: &'static str, spare: Spare },
}

impl ExclusiveRight {
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
            Ok(()) => Ok(Some(Self(ExclusiveLock::File(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    pub(super) async fn of_session(
        client: Client,
        purpose: &'static str,
        server: &str,
        spare: &Spare,
    ) -> Result<Option<Self>> {
        const LOCK: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
        let row = client
            .query_one(LOCK, &[&purpose])
            .await
            .map_err(|error| lost(server).with_source(ErrorLocation::new(server, error)))?;
        let held: bool = row.try_get(0).map_err(|error| lost(server).with_source(ErrorLocation::new(server, error)))?;
        if held {
            return Ok(Some(Self(ExclusiveLock::Session { client, purpose, spare: spare.clone() })));
        }
        keep(spare, client);
        Ok(None)
    }

    /// Releases the right and keeps the connection for the next caller. Dropping the right instead closes the
    /// connection.
    #[boxed]
    pub async fn release(self) {
        const UNLOCK: &str = "SELECT pg_advisory_unlock(hashtextextended($1, 0))";
        if let ExclusiveLock::Session { client, purpose, spare } = self.0
            // If the connection does not answer it is dropped, which releases the right too.
            && client.query_one(UNLOCK, &[&purpose]).await.is_ok()
        {
            keep(&spare, client);
        }
    }

    /// Requires that the right is still held. To be called immediately before the exclusive work.
    ///
    /// # Errors
    /// `Unavailable` if the right was lost with the connection to the server.
    #[boxed]
    pub async fn require(&self) -> Result<()> {
        match &self.0 {
            ExclusiveLock::File(_) => Ok(()),
            ExclusiveLock::Session { client, .. } => {
                let asked = client.simple_query("SELECT 1").await;
                asked.map(drop).map_err(|error| lost("the database server").with_source(error))
            }
        }
    }
}

fn lost(server: &str) -> Error {
    Error::unavailable(
        "the connection to a database server was lost; the work continues when the server can be reached again",
    )
    .with_code(Code::RightLost)
    .with_source(ErrorLocation::silent(server))
}
