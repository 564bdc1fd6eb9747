//! The directory of a content database's search index. It holds generations of the index, numbered upwards, of which
//! the newest is in use, and indexes that full crawls are building. All of it is derived data.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use blobs::{create_private_directories, sync_directory};
use model::{Error, Id, Result};

/// Beginning of the names of indexes that are being built; the job's identifier follows.
const BUILDING: &str = "building-";

/// The directory of a content database's search index.
#[derive(Clone, Debug)]
pub struct SearchDirectory {
    path: PathBuf,
}

impl SearchDirectory {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the generation that is in use; `None` if there is none yet. Blocks, as all methods do.
    ///
    /// # Errors
    /// `Unavailable` if the directory cannot be read.
    pub fn current(&self) -> Result<Option<PathBuf>> {
        Ok(self.newest()?.map(|number| self.path.join(number.to_string())))
    }

    /// Begins an empty generation, which is in use from now on.
    ///
    /// # Errors
    /// `Unavailable` if the directory cannot be written.
    pub fn begin(&self) -> Result<PathBuf> {
        create_private_directories(&self.path)?;
        let path = self.next()?;
        create_private_directories(&path)?;
        Ok(path)
    }

    /// Returns the directory in which a job builds an index, and creates it if it is missing.
    ///
    /// # Errors
    /// `Unavailable` if the directory cannot be written.
    pub fn create_building(&self, job: Id) -> Result<PathBuf> {
        let path = self.building(job);
        create_private_directories(&path)?;
        Ok(path)
    }

    /// Returns the jobs that have built a part of an index.
    ///
    /// # Errors
    /// `Unavailable` if the directory cannot be read.
    pub fn builders(&self) -> Result<Vec<Id>> {
        let names = self.names()?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(BUILDING)?.parse().ok()).collect())
    }

    /// Turns the index that a job has built into the generation in use. Durable when it returns.
    ///
    /// # Errors
    /// `Unavailable` if the job has built none, or the directory cannot be written.
    pub fn publish(&self, job: Id) -> Result<()> {
        let (built, next) = (self.building(job), self.next()?);
        fs::rename(&built, &next).map_err(|error| failed(&built, &error))?;
        sync_directory(&self.path)
    }

    /// Removes the index that a job has built.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be removed.
    pub fn discard(&self, job: Id) -> Result<()> {
        remove(&self.building(job))
    }

    /// Removes everything except a generation that is in use, newer ones, and what jobs are building.
    ///
    /// # Errors
    /// `Unavailable` if something cannot be removed.
    pub fn tidy(&self, in_use: &Path) -> Result<()> {
        let in_use = in_use.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u64>().ok());
        let is_old = |name: &&String| match name.parse::<u64>() {
            Ok(number) => in_use.is_some_and(|in_use| number < in_use),
            Err(_) => !name.starts_with(BUILDING),
        };
        self.names()?.iter().filter(is_old).try_for_each(|name| remove(&self.path.join(name)))
    }

    /// Returns the size of the files of the generation in use in bytes, as far as they can be read.
    pub fn size(&self) -> u64 {
        let files = |path: PathBuf| path.read_dir().into_iter().flatten().flatten();
        let Ok(Some(path)) = self.current() else { return 0 };
        files(path).filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    fn building(&self, job: Id) -> PathBuf {
        self.path.join(format!("{BUILDING}{job}"))
    }

    fn next(&self) -> Result<PathBuf> {
        Ok(self.path.join((self.newest()?.unwrap_or_default() + 1).to_string()))
    }

    fn newest(&self) -> Result<Option<u64>> {
        Ok(self.names()?.iter().filter_map(|name| name.parse().ok()).max())
    }

    /// Returns the names of the entries; none if the directory does not exist.
    fn names(&self) -> Result<Vec<String>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| failed(&self.path, &error))?,
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            entry
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .map_err(|error| failed(&self.path, &error))
        };
        entries.map(name).collect()
    }
}

/// Removes a file or a directory; one that does not exist is removed already.
fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::unavailable(format!("the search index in {} cannot be read or replaced: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_index_replaces_the_one_in_use() {
        let place = tempfile::tempdir().unwrap();
        let directory = SearchDirectory::new(place.path().join("search/1"));
        assert_eq!(directory.current().unwrap(), None);
        let first = directory.begin().unwrap();
        let (job, other) = (Id::new(7), Id::new(8));
        let building = directory.create_building(job).unwrap();
        fs::write(building.join("new"), "").unwrap();
        directory.create_building(other).unwrap();
        assert_eq!(directory.current().unwrap(), Some(first.clone()), "what is being built is not in use");
        directory.publish(job).unwrap();
        let second = directory.current().unwrap().unwrap();
        assert!(second.join("new").exists());
        assert!(first.exists(), "the old one may still be in use");
        fs::write(place.path().join("search/1/meta.json"), "").unwrap();
        directory.tidy(&first).unwrap();
        assert!(first.exists() && second.exists(), "a generation stays while its follower changes over");
        directory.tidy(&second).unwrap();
        assert!(!first.exists());
        assert!(!place.path().join("search/1/meta.json").exists());
        assert_eq!(directory.builders().unwrap(), [other]);
        directory.discard(other).unwrap();
        directory.discard(other).unwrap();
        assert!(directory.builders().unwrap().is_empty());
        assert_eq!(directory.current().unwrap(), Some(second.clone()));
        directory.publish(other).unwrap_err();
        assert_eq!(directory.current().unwrap(), Some(second), "what was not built replaces nothing");
    }
}
