//! Owns the limits of a database handle.

use std::time::Duration;

/// Limits of one open database. The defaults suit a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reads of a SQLite file; half of them at most serve long reads.
    pub readers: usize,
    /// Connections to a PostgreSQL server, each with a thread; half of them at most serve long reads.
    pub connections: usize,
    /// Capacity of the transaction queue. Further transactions wait outside the queue for up to `patience` and are then
    /// refused.
    pub queue: usize,
    /// Maximum number of transactions that share one commit of a SQLite file.
    pub batch: usize,
    /// Maximum wait for a slot in the queue, for a file that another process is writing, or for a server that does not
    /// answer.
    pub patience: Duration,
    /// Statement timeout for short reads on a PostgreSQL server. Long reads and writes have no such limit: a COMMIT
    /// that is cut off while it waits for a standby would count as done.
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
