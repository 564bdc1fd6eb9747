//! The `directory` provider: a store in one directory of a file system.
//!
//! ```text
//! store.toml                     the marker: format and owner
//! lock, compaction.lock          the store-wide locks (flock)
//! segments/<id>.seg              small BLOBs, one record after another; the file is locked while a process writes it
//! segments/<id>.idx              where each BLOB lies in a segment that is complete, sorted by digest
//! segments/<id>.del              which records of the segment are deleted
//! large/<2 hex>/<64 hex>         large BLOBs: the raw bytes, a table of checksums, a footer
//! incoming/<name>                unfinished uploads of large BLOBs, each locked by its process
//! ```
//! `docs/formats/blob-store.md` specifies every byte. Each record holds its digest, length and time, so that the
//! indexes can be discarded and rebuilt.
//!
//! This module does not know what refers to a BLOB.

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
mod large_upload;
mod layout;
mod listing;
mod options;
mod provider;
mod reading;
mod record;
mod record_location;
mod recovery;
mod scan;
mod segment;
mod segment_pool;
mod table;
mod verify;

pub(crate) use coded::Coding;
pub(crate) use files::io_error;
pub use files::{create_directories, create_private_directories, free_bytes, sync_directory};
pub(crate) use large::{Footer, LargeFile, LargeSource};
pub use options::DirectoryOptions;
pub use provider::DirectoryProvider;
pub(crate) use record::{ChunkChecksums, u32_at, u64_at};
