//! Owns the right to do alone, among all processes that use a database, what two must not do at the same time. It ends with the
//! process that has it, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Code, Error, Result};
use tokio_postgres::Client;

use super::at::At;

/// The right, as long as it is held.
pub struct Alone(Held);

/// The connection with which the right was asked for last, for whoever asks next.
pub(super) type Spare = Arc<Mutex<Option<Client>>>;

/// Takes the connection that is kept, if it is there and open.
pub(super) fn take(spare: &Spare) -> Option<Client> {
    spare.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|client| !client.is_closed())
}

fn keep(spare: &Spare, client: Client) {
    *spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
}

pub(super) enum Held {
    /// The lock on a file beside the database, `NAME-PURPOSE`.
    File(#[expect(dead_code, reason = "the lock ends when the file is closed")] File),
    /// An advisory lock of a connection to the server, which ends with it.
    Session { client: Client, purpose: &'static str, spare: Spare },
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
            .map_err(|error| lost(server).with_source(At::new(server, error)))?;
        let held: bool = row.try_get(0).map_err(|error| lost(server).with_source(At::new(server, error)))?;
        if held {
            return Ok(Some(Self(Held::Session { client, purpose, spare: spare.clone() })));
        }
        keep(spare, client);
        Ok(None)
    }

    /// Releases the right and keeps the connection for the next caller. Dropping it instead closes the connection.
    pub async fn release(self) {
        const UNLOCK: &str = "SELECT pg_advisory_unlock(hashtextextended($1, 0))";
        if let Held::Session { client, purpose, spare } = self.0
            // A connection that does not answer is dropped, and the right with it.
            && client.query_one(UNLOCK, &[&purpose]).await.is_ok()
        {
            keep(&spare, client);
        }
    }

    /// Whether the right is still held: asked right before what must be done alone.
    ///
    /// # Errors
    /// Unavailable when it was lost with the connection to the server.
    pub async fn require(&self) -> Result<()> {
        match &self.0 {
            Held::File(_) => Ok(()),
            Held::Session { client, .. } => {
                let asked = client.simple_query("SELECT 1").await;
                asked.map(drop).map_err(|error| lost("the database server").with_source(error))
            }
        }
    }
}

fn lost(server: &str) -> Error {
    Error::unavailable("the connection to a database server was lost; the work goes on when it is there again")
        .with_code(Code::RightLost)
        .with_source(At::silent(server))
}
