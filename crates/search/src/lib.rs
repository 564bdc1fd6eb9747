//! Text extraction from documents for indexing, and the sandboxed child processes in which uploaded documents are
//! opened.

pub mod extract;
pub mod sandbox;
