//! Full-text search: the text of documents, the words in it, queries, and the index. Also the sandboxed child processes
//! in which uploaded documents are opened.

pub mod extract;
pub mod index;
pub mod language;
pub mod query;
pub mod readers;
pub mod sandbox;
