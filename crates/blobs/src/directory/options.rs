//! The options of a directory store.

use crate::coding::StoreKey;

/// The settings of a directory store. BLOBs written under one set of options are readable under any other.
#[derive(Clone, Debug)]
pub struct DirectoryOptions {
    /// Size in bytes up to which BLOBs share segments; larger ones get files of their own. At most 16 MiB.
    pub segment_limit: u64,
    /// Approximate length in bytes at which a segment is full.
    pub segment_bytes: u64,
    /// Number of threads that write segments, each its own.
    pub writers: usize,
    /// Approximate limit on the bytes that a thread writes before it answers.
    pub batch_bytes: u64,
    /// Fills the next segment with zeros in quiet moments. This halves the duration of a flush and doubles the bytes
    /// written.
    pub zero_fill: bool,
    /// zstd level (1 to 19) for BLOBs that shrink by it; `None` disables compression.
    pub compression: Option<i32>,
    /// Keys with which BLOBs are encrypted before they are written. The first one encrypts, all of them decrypt. When
    /// empty, new BLOBs are not encrypted.
    pub encryption_keys: Vec<StoreKey>,
    /// Creates the store when it is absent. Must be unset for a store that existed before: its disk may not be mounted.
    pub create: bool,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self {
            segment_limit: 256 << 10,
            segment_bytes: 256 << 20,
            writers: 2,
            batch_bytes: 16 << 20,
            zero_fill: true,
            compression: None,
            encryption_keys: Vec::new(),
            create: true,
        }
    }
}
