//! The search index, and the text of documents that it is made of.

pub mod extract;
