//! Owns the limits of a database handle.

use std::time::Duration;

/// Limits of one open database. The defaults suit a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reads of a SQLite file; half of them at most serve long reads.
    pub readers: usize,
    /// Connections to a PostgreSQL server, each with a thread; half of them at most serve long reads.
    pub connections: usize,
    /// Transactions that may wait; more than these wait outside the queue for up to `patience`, then are refused.
    pub queue: usize,
    /// Transactions that share one commit of a SQLite file.
    pub batch: usize,
    /// How long a transaction waits for a place in the queue, for a file that another process writes, or for a server
    /// that does not answer.
    pub patience: Duration,
    /// How long a PostgreSQL server may take for a statement of a short read before it is told to give up. Long reads
    /// and writes have no such bound: a COMMIT that is cut off while it waits for a standby would count as done.
    pub statement: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            readers: 8,
            connections: 16,
            queue: 1024,
            batch: 128,
            patience: Duration::from_secs(10),
            statement: Duration::from_secs(60),
        }
    }
}
