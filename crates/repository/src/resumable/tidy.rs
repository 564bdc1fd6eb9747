//! Forgetting uploads whose time is over, and files that a crash left.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use database::content::upload;
use model::{Result, Timestamp};

use super::blocking;
use super::partial::fault;
use crate::Repository;

/// A file without a row is left alone for this long: its row may be under way.
const GRACE: Duration = Duration::from_secs(60 * 60);

impl Repository {
    /// Forgets uploads that expired, with their bytes, and files that no upload knows. Returns how many were removed.
    ///
    /// Runs at start and every hour; several servers may do it at once.
    pub async fn tidy_uploads(&self) -> Result<u64> {
        self.tidy_uploads_at(self.settled_now().await?, GRACE).await
    }

    pub(super) async fn tidy_uploads_at(&self, now: Timestamp, grace: Duration) -> Result<u64> {
        let mut removed = 0;
        for content in &self.map().await?.databases {
            loop {
                let expired = content.database.read(move |reader| upload::expired(reader, now)).await?;
                if expired.is_empty() {
                    break;
                }
                removed += expired.len() as u64;
                for row in expired {
                    let id = row.id.clone();
                    content.database.write_vital(move |transaction| upload::delete(transaction, &row.id)).await?;
                    self.remove_partial(&id).await?;
                }
            }
        }
        Ok(removed + self.remove_unknown(now, grace).await?)
    }

    async fn remove_unknown(&self, now: Timestamp, grace: Duration) -> Result<u64> {
        let (directory, mut removed) = (self.uploads(), 0);
        for (id, age) in blocking(move || files(&directory, now)).await? {
            // A file of a content database that is not attached now waits until it is.
            let Ok(Some(content)) = self.upload_database(&id).await else { continue };
            let word = id.clone();
            let row = content.database.read(move |reader| upload::find(reader, &word)).await?;
            let needless = match row {
                Some(row) => row.node_id.is_some(),
                None => age >= grace,
            };
            if needless {
                self.remove_partial(&id).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Names of the files, and how long nobody has written to each.
fn files(directory: &Path, now: Timestamp) -> Result<Vec<(String, Duration)>> {
    let look = || -> std::io::Result<Vec<(String, Duration)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let age = SystemTime::from(now).duration_since(entry.metadata()?.modified()?).unwrap_or_default();
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, age));
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
