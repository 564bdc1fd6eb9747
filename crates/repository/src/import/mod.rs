//! Stores many documents at once, for an import. The caller's rights are decided once for each folder, bytes are made
//! durable one document at a time, and one transaction turns a few hundred of them into documents.
//!
//! This module knows nothing of the source of the bytes.

mod documents;
mod folder;
mod folders;
mod returning;

pub use documents::{HashedBytes, ImportContent, ImportDocument, ImportWriter};
pub use folder::{ImportFolder, MAX_IMPORT_BATCH};
pub use folders::NewFolder;
pub use returning::{RestoreOutcome, RestoredDocument, ReturningVersion};
