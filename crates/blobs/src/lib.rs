//! BLOB stores, which hold the bytes of documents that are not stored in a content database.
//!
//! A [`BlobStore`] is a concrete facade over a [`Provider`]. The providers for directories and object stores are built
//! in; others plug in through [`BlobStore::from_provider`]. The suite in `testing` (feature `testing`) holds all of
//! them to the same contract.
//!
//! This crate does not know content databases, documents, permissions or policies: to it, a BLOB is a digest and its
//! bytes.

mod blocking;
mod cache;
mod coding;
mod directory;
#[cfg(fuzzing)]
pub mod fuzzing;
mod hasher;
mod locator;
mod marker;
mod metrics;
mod object;
mod outcome;
mod ownership;
mod probe;
mod provider;
mod reader;
mod single_flight;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod verification;
mod writer;

pub use cache::CacheOptions;
pub use coding::StoreKey;
pub use directory::{DirectoryOptions, create_directories, create_private_directories, free_bytes, sync_directory};
pub use hasher::{BlobHasher, digest_of};
pub use locator::{Locator, MAX_LOCATOR};
pub use marker::{Owner, STORE_MARKER};
pub use object::{NamedObjects, ObjectKind, ObjectOptions, ObjectSecrets, ServerSideEncryption, Timeouts};
pub use outcome::{CheckOutcome, Checked, Reporter};
pub use ownership::HAND_OVER_GRACE;
pub use probe::{ProbeReport, ProbeStep};
pub use provider::{
    BlobInMemory, BoxFuture, CompactLimits, CompactReport, Consent, Entry, Page, Provider, Source, Stored, Upload,
    Usage,
};
pub use reader::BlobReader;
pub use store::BlobStore;
pub use verification::Verification;
pub use writer::BlobWriter;
