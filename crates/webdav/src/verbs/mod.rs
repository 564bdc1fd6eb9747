//! WebDAV verbs, one file per family.

mod contained;
pub mod content;
pub mod locking;
pub mod options;
pub mod placing;
pub mod propfind;
pub mod proppatch;
pub mod report;
pub mod search;
