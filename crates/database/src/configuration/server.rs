//! Statements over the servers of the farm. The time after which a silent server counts as gone is not known here.

use model::{Id, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    PUT_SERVER = "INSERT INTO server (id, host, address, version, started_at, seen_at) VALUES ($1, $2, $3, $4, $5, $6) \
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at";
    LIST_SERVERS = "SELECT id, host, address, version, started_at, seen_at FROM server ORDER BY id";
    DELETE_SERVER = "DELETE FROM server WHERE id = $1";
    DELETE_EARLIER = "DELETE FROM server WHERE host = $1 AND address = $2 AND id <> $3";
    DELETE_SILENT = "DELETE FROM server WHERE seen_at < $1";
}

/// A stored server entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// Identifier, unique to this start of the server.
    pub id: Id,
    /// Host name of the machine.
    pub host: String,
    /// Address on which it listens.
    pub address: String,
    /// Version of the program.
    pub version: String,
    /// Time since which it has been listening.
    pub started_at: Timestamp,
    /// Time of its last heartbeat, by its own clock.
    pub seen_at: Timestamp,
}

/// Registers a server, or updates the heartbeat of a registered one.
pub fn put(transaction: &mut Transaction<'_>, row: &ServerRow) -> Result<()> {
    let values = params![row.id, &row.host, &row.address, &row.version, row.started_at, row.seen_at];
    transaction.execute(PUT_SERVER, &values).map(drop)
}

/// All servers, in the order in which they started.
pub fn list(reader: &mut Reader<'_>) -> Result<Vec<ServerRow>> {
    reader.query(LIST_SERVERS, &[], |row| {
        Ok(ServerRow {
            id: row.get(0)?,
            host: row.get(1)?,
            address: row.get(2)?,
            version: row.get(3)?,
            started_at: row.get(4)?,
            seen_at: row.get(5)?,
        })
    })
}

/// Deletes the entry of a server.
pub fn remove(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE_SERVER, &params![id]).map(drop)
}

/// Deletes the entries of earlier starts at the same host and address.
pub fn remove_earlier(transaction: &mut Transaction<'_>, row: &ServerRow) -> Result<u64> {
    transaction.execute(DELETE_EARLIER, &params![&row.host, &row.address, row.id])
}

/// Deletes servers without a heartbeat since `before`.
pub fn purge(transaction: &mut Transaction<'_>, before: Timestamp) -> Result<u64> {
    transaction.execute(DELETE_SILENT, &params![before])
}
