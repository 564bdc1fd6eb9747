//! Copies whole PostgreSQL servers. Each server is copied once, as of the end of its copy.

use async_recursion::async_recursion as boxed;
use database::{Database, Dump, Location};
use model::{Error, Result};
use repository::StorageDatabase;

use super::chunks::{Chunked, KnownChunks, store_dump};
use crate::Progress;
use crate::backup::format::manifest::{DatabasePart, Manifest, method};
use crate::backup::format::vault::BackupObjects;

/// A server, by host and port, and one of its databases.
struct Server {
    name: String,
    database: Database,
    location: Location,
}

/// Copies whole servers into a set.
pub(crate) struct Clusters<'a> {
    pub vault: &'a BackupObjects,
    pub earlier: Option<&'a Manifest>,
    pub progress: &'a Progress,
    /// Content copied so far.
    pub parts: Vec<DatabasePart>,
    /// Bytes added to the store.
    pub new_bytes: u64,
}

impl<'a> Clusters<'a> {
    pub fn new(vault: &'a BackupObjects, earlier: Option<&'a Manifest>, progress: &'a Progress) -> Self {
        Self { vault, earlier, progress, parts: Vec::new(), new_bytes: 0 }
    }

    /// Copies every server that holds one of the databases. The server of the configuration database is copied last.
    ///
    /// # Errors
    /// `Invalid` when none of the databases is on a server, or when a server cannot be copied as a whole.
    #[boxed]
    pub async fn take(&mut self, content: &[StorageDatabase], configuration: (&Database, &Location)) -> Result<()> {
        let mut servers: Vec<Server> = Vec::new();
        let last = (configuration.0.clone(), configuration.1.clone());
        let databases = content.iter().map(|one| (one.database.clone(), one.location.clone())).chain([last]);
        for (database, location) in databases {
            let Some(name) = location.server() else { continue };
            // A server takes its position from the last of its databases.
            servers.retain(|known| known.name != name);
            servers.push(Server { name, database, location });
        }
        if servers.is_empty() {
            return Err(Error::invalid(
                "the farm has no database on a PostgreSQL server: leave out --postgres basebackup",
            ));
        }
        for server in &servers {
            server.database.require_base_backup().await.map_err(|error| named(&server.name, &error))?;
        }
        for server in &servers {
            self.take_one(server).await.map_err(|error| named(&server.name, &error))?;
        }
        Ok(())
    }

    async fn take_one(&mut self, server: &Server) -> Result<()> {
        let before = self.earlier.and_then(|set| set.clusters.iter().find(|part| part.name == server.name));
        let before = KnownChunks::of(self.vault, before).await;
        let log = server.database.keep_log().await?;
        let stored = match Dump::begin_cluster(&server.location) {
            Ok(dump) => store_dump(self.vault, dump, before, self.progress).await,
            Err(error) => Err(error),
        };
        // If the release fails, the end of the connection releases the log. An error of the copy takes precedence.
        let released = log.release().await;
        let chunked: Chunked = stored?;
        released?;
        self.new_bytes += chunked.new_bytes;
        let number = (self.parts.len() + 1).to_string();
        let location = server.location.to_string();
        self.parts.push(DatabasePart {
            id: number,
            name: server.name.clone(),
            location,
            method: method::CLUSTER.to_owned(),
            cluster: None,
            bytes: chunked.bytes,
            digest: chunked.digest.to_string(),
            chunks: chunked.lists,
            chunk_bytes: None,
        });
        Ok(())
    }
}

fn named(server: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{server}: {}", error.message())).with_code(error.code())
}
