//! The search index, the text of documents that it is made of, and the children in which other people's documents are opened.

pub mod extract;
pub mod sandbox;
