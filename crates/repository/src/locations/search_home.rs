//! Where the search indexes of a content database are: in the data directory of this server, or on a search server that
//! all servers of the farm share. All of them are derived data.

use std::path::PathBuf;

use model::{ErrorKind, Id, Result};
use search::index::{SearchIndex, SharedGenerations};

use super::search_directory::SearchDirectory;

/// Where the search indexes of a content database are. All methods that return a `Result` block.
///
/// # Errors
/// `Unavailable` if the directory cannot be read or written, or the search server does not answer.
#[derive(Clone, Debug)]
pub enum SearchHome {
    /// In the data directory.
    Directory(SearchDirectory),
    /// On a search server.
    Server(SharedGenerations),
}

/// One of the indexes of a content database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The index in a directory.
    Directory(PathBuf),
    /// The index of a name on a search server.
    Named(String),
}

impl SearchHome {
    /// Returns whether all servers of the farm share the indexes.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// Returns the address of the search server; `None` for a directory. Does not block.
    pub fn server(&self) -> Option<String> {
        match self {
            Self::Directory(_) => None,
            Self::Server(generations) => Some(generations.server().address().to_owned()),
        }
    }

    /// Returns the generation that is in use; `None` if there is none yet.
    pub fn current(&self) -> Result<Option<Generation>> {
        Ok(match self {
            Self::Directory(directory) => directory.current()?.map(Generation::Directory),
            Self::Server(generations) => generations.current()?.map(Generation::Named),
        })
    }

    /// Opens a generation for writing.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged, missing or of another version.
    pub fn open(&self, generation: &Generation) -> Result<SearchIndex> {
        match (self, generation) {
            (_, Generation::Directory(path)) => SearchIndex::open(path),
            (Self::Server(generations), Generation::Named(name)) => SearchIndex::open_shared(generations, Some(name)),
            (Self::Directory(directory), Generation::Named(name)) => SearchIndex::open(&directory.path().join(name)),
        }
    }

    /// Opens the generation in use for reading, while another process may write it; `None` if there is none that can be
    /// used. On a search server, it changes over to other generations by itself.
    pub fn open_for_reading(&self) -> Result<Option<SearchIndex>> {
        let opened = match self {
            Self::Directory(directory) => match directory.current()? {
                Some(path) => SearchIndex::open_existing(&path),
                None => Ok(None),
            },
            Self::Server(generations) => SearchIndex::open_shared(generations, None).map(Some),
        };
        match opened {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            opened => opened,
        }
    }

    /// Begins an empty generation, which is in use from now on.
    pub fn begin(&self) -> Result<Generation> {
        Ok(match self {
            Self::Directory(directory) => Generation::Directory(directory.begin()?),
            Self::Server(generations) => Generation::Named(generations.begin()?),
        })
    }

    /// Returns the index that a job builds, and creates it if it is missing.
    pub fn create_building(&self, job: Id) -> Result<Generation> {
        Ok(match self {
            Self::Directory(directory) => Generation::Directory(directory.create_building(job)?),
            Self::Server(generations) => Generation::Named(generations.create_building(job)?),
        })
    }

    /// Returns the jobs that have built a part of an index.
    pub fn builders(&self) -> Result<Vec<Id>> {
        match self {
            Self::Directory(directory) => directory.builders(),
            Self::Server(generations) => generations.builders(),
        }
    }

    /// Turns the index that a job has built into the generation in use. Durable when it returns.
    pub fn publish(&self, job: Id) -> Result<()> {
        match self {
            Self::Directory(directory) => directory.publish(job),
            Self::Server(generations) => generations.publish(job),
        }
    }

    /// Removes the index that a job has built.
    pub fn discard(&self, job: Id) -> Result<()> {
        match self {
            Self::Directory(directory) => directory.discard(job),
            Self::Server(generations) => generations.discard(job),
        }
    }

    /// Removes everything except the generation in use, newer ones, and what jobs are building.
    pub fn tidy(&self, in_use: &Generation) -> Result<()> {
        match (self, in_use) {
            (Self::Directory(directory), Generation::Directory(path)) => directory.tidy(path),
            (Self::Server(generations), Generation::Named(_)) => generations.tidy(),
            _ => Ok(()),
        }
    }

    /// Returns the size of the generation in use in bytes, as far as it can be read.
    pub fn size(&self) -> u64 {
        match self {
            Self::Directory(directory) => directory.size(),
            Self::Server(generations) => generations.size().unwrap_or_default(),
        }
    }
}
