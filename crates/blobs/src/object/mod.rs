//! The provider for object stores: S3 and what speaks like it, Azure, Google.
//!
//! ```text
//! <prefix>/store.toml             the marker: format and owner
//! <prefix>/blobs/<digest>.<size>  a BLOB: its bytes, or an envelope with its bytes, or an envelope that names its data object
//! <prefix>/data/<id>              the bytes of a large BLOB, then its envelope once more
//! <prefix>/clock                  written to learn the service's time
//! ```
//! `docs/formats/object-store.md` says it byte by byte. A BLOB has one key, whatever form it is stored in, so that a conditional PUT decides
//! who was first, a GET of that key says definitely whether it is there, and a listing is an enumeration.
//!
//! Knows nothing of who refers to a BLOB.

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

pub use notes::ObjectNotes;
pub use options::{ObjectKind, ObjectOptions, ObjectSecrets, Patience, ServerSideEncryption};
pub use provider::ObjectProvider;
