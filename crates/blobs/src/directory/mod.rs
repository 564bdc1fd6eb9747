//! The `directory` provider: a store in one directory of a file system.
//!
//! ```text
//! store.toml                     the marker: format and owner
//! lock, compaction.lock          the store-wide locks (flock)
//! segments/<id>.seg              small BLOBs, one record after another; the file is locked while a process writes it
//! segments/<id>.idx              where each BLOB lies in a segment that is complete, sorted by digest
//! segments/<id>.del              which records of the segment are deleted
//! large/<2 hex>/<64 hex>         large BLOBs: the raw bytes, a table of checksums, a footer
//! incoming/<name>                uploads of large BLOBs that are not complete; locked by the process that receives them
//! ```
//! `docs/formats/blob-store.md` says it byte by byte. Every record tells its digest, length and time, so that the indexes can
//! be thrown away.
//!
//! Knows nothing of who refers to a BLOB.

mod catalog;
mod coded;
mod cold;
mod committer;
mod compaction;
mod deletions;
mod files;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod growing;
mod hot;
mod index;
mod large;
mod layout;
mod listing;
mod nursery;
mod place;
mod provider;
mod reading;
mod record;
mod recovery;
mod scan;
mod segment;
mod table;
mod upload;
mod verify;

pub(crate) use coded::Coding;
pub(crate) use files::failed;
pub use files::{create_directories, create_private_directories, free_bytes, sync_directory};
pub(crate) use large::{Footer, LargeFile, LargeSource};
pub use provider::DirectoryProvider;
pub(crate) use record::{ChunkSums, u32_at, u64_at};

use model::{Error, Result};

use crate::coding::StoreKey;

/// How a store in a directory works. What is written with one set of options is read with any other.
#[derive(Clone, Debug)]
pub struct DirectoryOptions {
    /// BLOBs up to this many bytes share segments, larger ones get files of their own. At most 16 MiB.
    pub segment_limit: u64,
    /// Segments are begun anew at about this many bytes.
    pub segment_bytes: u64,
    /// Threads that write segments, each its own.
    pub writers: usize,
    /// A thread writes at most about this many bytes before it answers.
    pub batch_bytes: u64,
    /// Whether the next segment is filled with zeros in quiet moments. Halves the time of a flush; costs that much more writing.
    pub zero_fill: bool,
    /// zstd level (1 to 19) for BLOBs that shrink by it; absent: nothing is compressed.
    pub compression: Option<i32>,
    /// Keys that BLOBs are encrypted with before they are written. The first one encrypts, all of them decrypt. Empty: new BLOBs are not
    /// encrypted.
    pub encryption_keys: Vec<StoreKey>,
    /// Whether a store is made where there is none. A store that was there before must not be: its disk may not be mounted.
    pub create: bool,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self {
            segment_limit: 256 << 10,
            segment_bytes: 256 << 20,
            writers: 2,
            batch_bytes: 16 << 20,
            zero_fill: true,
            compression: None,
            encryption_keys: Vec::new(),
            create: true,
        }
    }
}

/// Runs work that may wait for the disk on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(interrupted)?
}

fn interrupted(error: tokio::task::JoinError) -> Error {
    Error::unavailable("the BLOB store was interrupted").with_source(error)
}
