//! One file for each family of verbs.

pub mod content;
pub mod locking;
pub mod options;
pub mod placing;
pub mod propfind;
pub mod proppatch;
pub mod report;
pub mod search;
