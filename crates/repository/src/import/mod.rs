//! Storing many documents at once, as an import does: what the caller may do is decided once for each folder, bytes are
//! made durable one by one, and one transaction turns a few hundred of them into documents.
//!
//! This module knows nothing of where the bytes come from.

mod documents;
mod folder;
mod folders;
mod returning;

pub use documents::{HashedBytes, ImportContent, ImportDocument, ImportWriter};
pub use folder::{ImportFolder, MAX_IMPORT_BATCH};
pub use folders::NewFolder;
pub use returning::{Returned, ReturningDocument, ReturningVersion};
