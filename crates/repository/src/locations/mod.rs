//! Directories and buckets: detecting what they hold already, and whether they may be used.

pub(crate) mod claim;
pub(crate) mod data_directory;
pub(crate) mod markers;
mod nesting;
pub(crate) mod search_directory;
pub(crate) mod search_home;
