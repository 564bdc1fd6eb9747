//! Forgetting uploads whose time is over, and files that a crash left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use database::content::upload;
use model::{Result, Timestamp};

use super::blocking;
use super::partial::fault;
use crate::Repository;
use crate::farm::registry::ContentDatabase;

/// A file without a row is left alone for this long: its row may be under way.
const GRACE: Duration = Duration::from_secs(60 * 60);

impl Repository {
    /// Forgets uploads that expired, with their bytes, and files that no upload knows. Returns how many were removed.
    ///
    /// Runs at start and every hour; several servers may do it at once.
    ///
    /// # Errors
    /// The first of a database or the disk; what another database knows is removed all the same.
    pub async fn tidy_uploads(&self) -> Result<u64> {
        self.tidy_uploads_at(self.settled_now().await?, self.old_enough(GRACE).await?).await
    }

    /// Removes what expired before `now`, and files without a row that nobody wrote to since `untouched`.
    pub(super) async fn tidy_uploads_at(&self, now: Timestamp, untouched: Timestamp) -> Result<u64> {
        let mut done = Ok(0);
        for content in &self.registry().await?.databases {
            done = both(done, self.remove_expired(content, now).await);
        }
        both(done, self.remove_unknown(untouched).await)
    }

    async fn remove_expired(&self, content: &ContentDatabase, now: Timestamp) -> Result<u64> {
        let mut removed = 0;
        loop {
            let expired = content.database.read(move |reader| upload::expired(reader, now)).await?;
            if expired.is_empty() {
                return Ok(removed);
            }
            removed += expired.len() as u64;
            for row in expired {
                let id = row.id.clone();
                content.database.write_vital(move |transaction| upload::delete(transaction, &row.id)).await?;
                self.remove_partial(&id).await?;
            }
        }
    }

    async fn remove_unknown(&self, untouched: Timestamp) -> Result<u64> {
        let (directory, mut removed) = (self.uploads(), 0);
        for (id, written) in blocking(move || files(&directory)).await? {
            // A file of a content database that is not attached now waits until it is.
            let Ok(Some(content)) = self.upload_database(&id).await else { continue };
            let word = id.clone();
            let row = content.database.read(move |reader| upload::find(reader, &word)).await?;
            let needless = match row {
                Some(row) => row.node_id.is_some(),
                None => written <= untouched,
            };
            if needless {
                self.remove_partial(&id).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// What both removed, or the first error.
fn both(one: Result<u64>, other: Result<u64>) -> Result<u64> {
    Ok(one? + other?)
}

/// Names of the files, and when each was last written to.
fn files(directory: &Path) -> Result<Vec<(String, Timestamp)>> {
    let look = || -> std::io::Result<Vec<(String, Timestamp)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let written = Timestamp::from(entry.metadata()?.modified()?);
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, written));
            }
        }
        Ok(found)
    };
    match look() {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_there(directory) => Ok(Vec::new()),
        Err(error) => Err(fault("the uploads cannot be looked through", error)),
    }
}

/// A file that went while its neighbours were listed is no reason to believe that there is no directory.
fn is_there(directory: &Path) -> bool {
    PathBuf::from(directory).try_exists().unwrap_or(true)
}
