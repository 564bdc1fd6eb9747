//! Directories and buckets: what is in one already, and whether it may be used.

pub(crate) mod claim;
pub(crate) mod markers;
