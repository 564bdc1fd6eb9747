//! The servers of the farm: each sends a heartbeat every 30 seconds.

use std::fs::File;
use std::time::{Duration, SystemTime};

use async_recursion::async_recursion as boxed;
use database::configuration::server::{self, ServerRow};
use model::{Id, Result, Timestamp};
use tokio::time::{MissedTickBehavior, interval};

use crate::farm::activity::ActivityMonitor;
use crate::{Repository, Session};

/// Interval between heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Interval at which a server reports user activity.
const AT_WORK: Duration = Duration::from_millis(100);
/// Silence after which a server counts as gone.
const GONE: Duration = Duration::from_secs(100);
/// Silence after which a server is removed from the list.
const FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);

/// A server of the farm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
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
    /// Set when its silence means that it cannot be running properly: it ended without signing off, or does not reach
    /// the configuration database.
    pub gone: bool,
    /// Set for the server that handles this request.
    pub here: bool,
}

impl Repository {
    /// Sends heartbeats for this server, which listens on `address` of the machine `host`, until the future is dropped.
    /// Failures are logged and retried.
    #[boxed]
    pub async fn send_heartbeats(self, host: String, address: String) {
        let (id, version, started_at) = (self.inner.process_id, env!("CARGO_PKG_VERSION").to_owned(), Timestamp::now());
        let mut row = ServerRow { id, host, address, version, started_at, seen_at: started_at };
        let mut tick = interval(HEARTBEAT);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            row.seen_at = Timestamp::now();
            if let Err(error) = self.report(row.clone()).await {
                tracing::warn!(
                    error = error.report(),
                    "the farm's list of servers could not be updated with this server"
                );
            }
        }
    }

    async fn report(&self, row: ServerRow) -> Result<()> {
        let write = move |transaction: &mut database::Transaction<'_>| {
            // No earlier server can still be running on the address where this one listens.
            server::remove_earlier(transaction, &row)?;
            server::purge(transaction, row.seen_at.before(FORGOTTEN))?;
            server::put(transaction, &row)
        };
        self.inner.configuration.write(write).await
    }

    /// Removes this server from the list when it ends.
    #[boxed]
    pub async fn sign_off(&self) {
        let id = self.inner.process_id;
        if let Err(error) = self.inner.configuration.write_vital(move |tx| server::remove(tx, id)).await {
            tracing::warn!(error = error.report(), "this server could not be removed from the farm's list of servers");
        }
    }
}

impl Session {
    /// Returns the servers of the farm, including those that ended within the last day without signing off.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn servers(&self) -> Result<Vec<Server>> {
        self.require_farm_administrator("see the farm's servers")?;
        let (here, now) = (self.repository.inner.process_id, Timestamp::now());
        let rows = self.repository.inner.configuration.read(server::list).await?;
        let told = |row: ServerRow| Server {
            gone: row.seen_at < now.before(GONE),
            here: row.id == here,
            id: row.id,
            host: row.host,
            address: row.address,
            version: row.version,
            started_at: row.started_at,
            seen_at: row.seen_at,
        };
        Ok(rows.into_iter().map(told).collect())
    }
}

impl Repository {
    /// Reports user activity to commands on the same data directory, for as long as the server runs.
    #[boxed]
    pub async fn report_activity(self) {
        let path = self.inner.directory.server_lock();
        let mut watch = ActivityMonitor::default();
        loop {
            tokio::time::sleep(AT_WORK).await;
            if watch.is_busy(&self.inner.activity) {
                let path = path.clone();
                // A failure here endangers no data, and writes that matter report a failing disk themselves.
                let tell = move || File::options().write(true).open(path)?.set_modified(SystemTime::now());
                let _ = tokio::task::spawn_blocking(tell).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn row(id: i64, address: &str, age: Duration) -> ServerRow {
        let (host, address, version) = ("vault".to_owned(), address.to_owned(), "1.2.3".to_owned());
        let seen_at = Timestamp::now().before(age);
        ServerRow { id: Id::new(id), host, address, version, started_at: seen_at, seen_at }
    }

    #[tokio::test]
    async fn servers_that_fall_silent_are_gone_and_then_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let options = Options {
            directory: place.path().to_path_buf(),
            configuration: None,
            content: None,
            administrator_password: Some("correct horse battery".to_owned()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        let session = repository.as_caller(repository.farm_administrator().await.unwrap());
        let here = repository.inner.process_id.get();
        for (id, address, age) in [(901, "a", 26 * 3_600), (902, "b", 23 * 3_600), (903, "c", 5), (904, "d", 5)] {
            repository.report(row(id, address, Duration::from_secs(age))).await.unwrap();
        }
        // A server on the same address again, after one that ended without signing off.
        repository.report(row(here, "d", Duration::ZERO)).await.unwrap();
        let told = |servers: Vec<Server>| servers.into_iter().map(|s| (s.address, s.gone, s.here)).collect::<Vec<_>>();
        let (b, c, d) = (("b".into(), true, false), ("c".into(), false, false), ("d".into(), false, true));
        assert_eq!(told(session.servers().await.unwrap()), [d, b.clone(), c.clone()]);
        repository.sign_off().await;
        assert_eq!(told(session.servers().await.unwrap()), [b, c]);
        repository.close().await;
    }
}
