//! The provider for object stores: S3 and compatible services, Azure, Google.
//!
//! ```text
//! <prefix>/store.toml             the marker: format and owner
//! <prefix>/blobs/<digest>.<size>  a BLOB: bytes, or an envelope with its bytes or the name of its data object
//! <prefix>/data/<id>              the bytes of a large BLOB, then its envelope once more
//! <prefix>/clock                  written to learn the service's time
//! ```
//! `docs/formats/object-store.md` specifies every byte. A BLOB has one key, whatever its stored form. So a conditional
//! PUT decides which upload was first, a GET of that key shows definitely whether the BLOB exists, and a listing is an
//! enumeration.
//!
//! This module does not know what refers to a BLOB.

mod bucket;
mod failure;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod gate;
mod http;
mod listing;
mod names;
mod notes;
mod opening;
mod options;
mod provider;
mod reading;
mod silence;
mod store;
mod sweeping;
mod upload;

pub use notes::NamedObjects;
pub use options::{ObjectKind, ObjectOptions, ObjectSecrets, ServerSideEncryption, Timeouts};
pub use provider::ObjectProvider;
