//! The corpus that a target holds before a run: libraries, folders and documents with names, sizes and kinds.
//! Deterministic for a given seed. Independent of any server.

mod catalog;
mod content;
mod document;
mod folder;
mod hash;
mod loaded;
mod names;
mod plan;
mod searchable;

pub use catalog::{ANY_FINGERPRINT, Corpus};
pub use content::{Content, Verifier};
pub use document::Document;
pub use folder::{NOTE, write_folder};
pub use loaded::Loaded;
pub use names::word;
pub use plan::CorpusPlan;
pub use searchable::SearchableTexts;

#[cfg(test)]
mod tests;
