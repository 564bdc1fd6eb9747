//! Full-text search: the text of documents, the words in it, queries, and the index. Also the sandboxed child processes
//! in which uploaded documents are opened, and the external programs that read some of them.

pub mod extract;
pub mod index;
pub mod language;
mod pictures;
pub mod programs;
pub mod query;
pub mod readers;
pub mod sandbox;
pub mod sheets;
