//! Removes expired uploads, and files left by a crash.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::content::upload;
use model::{Result, Timestamp};

use super::partial::fault;
use crate::Repository;
use crate::blocking::blocking;
use crate::farm::registry::ContentDatabase;

/// Minimum age at which a file without a row is removed; its row may be about to be written.
const GRACE: Duration = Duration::from_secs(60 * 60);

impl Repository {
    /// Removes expired uploads with their bytes, and files that belong to no upload. Returns the number removed.
    ///
    /// Runs at start and every hour. Several servers may run it at the same time.
    ///
    /// # Errors
    /// The first error of a database or the disk. Everything that it does not concern is removed all the same.
    #[boxed]
    pub async fn tidy_uploads(&self) -> Result<u64> {
        self.tidy_uploads_at(self.settled_now().await?, self.old_enough(GRACE).await?).await
    }

    /// Removes uploads that expired before `now`, and files without a row that were not written to since `untouched`.
    pub(super) async fn tidy_uploads_at(&self, now: Timestamp, untouched: Timestamp) -> Result<u64> {
        let mut done = Ok(0);
        for content in &self.registry().await?.databases {
            done = both(done, self.remove_expired(content, now).await);
        }
        both(done, self.remove_unknown(untouched).await)
    }

    async fn remove_expired(&self, content: &ContentDatabase, now: Timestamp) -> Result<u64> {
        let mut done = Ok(0);
        loop {
            let expired = content.database.read(move |reader| upload::expired(reader, now)).await?;
            if expired.is_empty() {
                return done;
            }
            for row in expired {
                let id = row.id.clone();
                content.database.write_vital(move |transaction| upload::delete(transaction, &row.id)).await?;
                done = both(done, self.remove_partial(&id).await.map(|()| 1));
            }
        }
    }

    async fn remove_unknown(&self, untouched: Timestamp) -> Result<u64> {
        let (directory, mut done) = (self.uploads(), Ok(0));
        for (id, written) in blocking(move || files(&directory)).await? {
            done = both(done, self.remove_if_unknown(&id, written, untouched).await);
        }
        done
    }

    /// Removes a file that no upload needs. Returns the number removed, 0 or 1.
    async fn remove_if_unknown(&self, id: &str, written: Result<Timestamp>, untouched: Timestamp) -> Result<u64> {
        // A file that belongs to a content database not attached now is kept until the database is attached.
        let Ok(Some(content)) = self.upload_database(id).await else { return Ok(0) };
        let word = id.to_owned();
        let row = content.database.read(move |reader| upload::find(reader, &word)).await?;
        let needless = match row {
            Some(row) => row.node_id.is_some(),
            None => written? <= untouched,
        };
        if needless {
            self.remove_partial(id).await?;
        }
        Ok(needless.into())
    }
}

/// Returns the sum of both counts, or the first error.
fn both(one: Result<u64>, other: Result<u64>) -> Result<u64> {
    Ok(one? + other?)
}

/// Returns the names of the files, each with the time of its last write.
fn files(directory: &Path) -> Result<Vec<(String, Result<Timestamp>)>> {
    let look = || -> std::io::Result<Vec<(String, Result<Timestamp>)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            if let (Ok(name), Some(written)) = (entry.file_name().into_string(), written(&entry)) {
                found.push((name, written));
            }
        }
        Ok(found)
    };
    match look() {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_there(directory) => Ok(Vec::new()),
        Err(error) => Err(fault("the unfinished uploads cannot be listed", error)),
    }
}

/// Returns the time of the last write to a file; `None` if the file is gone, because another server removed it
/// meanwhile.
fn written(entry: &DirEntry) -> Option<Result<Timestamp>> {
    match entry.metadata().and_then(|metadata| metadata.modified()) {
        Ok(time) => Some(Ok(time.into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(fault("the age of an unfinished upload cannot be read", error))),
    }
}

/// Returns whether the directory exists. `NotFound` may also mean that the listing itself failed.
fn is_there(directory: &Path) -> bool {
    PathBuf::from(directory).try_exists().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_disappears_during_the_listing_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1-00ff");
        std::fs::write(&path, "x").unwrap();
        let entry = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap();
        assert!(written(&entry).unwrap().unwrap() <= Timestamp::now());
        std::fs::remove_file(&path).unwrap();
        assert!(written(&entry).is_none());
    }
}
