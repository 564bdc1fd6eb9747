//! Other users of a PostgreSQL database that is to be replaced.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};

use crate::Location;
use crate::engine::postgres::{connect, parse_config};

/// Time that the connections of a program that has just ended may take to disappear.
const DISCONNECT_TIME: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Counts client connections. If the account may not see the type of another connection, that connection counts as a
/// client's.
const COUNT_CLIENTS: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> \
    pg_backend_pid() \
     AND coalesce(backend_type, 'client backend') = 'client backend'";

/// Requires that no other client is connected to the database at `location`.
///
/// # Errors
/// `Conflict` with code `database_in_use`; `Unavailable` if the server does not answer; `Invalid` for a database that
/// is not PostgreSQL's.
#[boxed]
pub async fn require_unused(location: &Location) -> Result<()> {
    let Location::Postgres(address) = location else {
        return Err(Error::invalid("only PostgreSQL databases can be checked for other connections"));
    };
    let silent = |error| Error::unavailable(format!("{location} does not answer; try again later")).with_source(error);
    let client = connect(&parse_config(address)?).await.map_err(silent)?;
    let begun = Instant::now();
    loop {
        let others: i64 = client.query_one(COUNT_CLIENTS, &[]).await.map_err(silent)?.get(0);
        if others == 0 {
            return Ok(());
        }
        if begun.elapsed() > DISCONNECT_TIME {
            let text = format!(
                "{location} is in use by {others} other connections, most likely those of a running server: stop that \
                 server, or name a new, empty database"
            );
            return Err(Error::conflict(text).with_code(Code::DatabaseInUse));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
