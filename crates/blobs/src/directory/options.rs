//! The options of a store in a directory.

use crate::coding::StoreKey;

/// How a store in a directory works. What is written with one set of options is read with any other.
#[derive(Clone, Debug)]
pub struct DirectoryOptions {
    /// BLOBs up to this many bytes share segments, larger ones get files of their own. At most 16 MiB.
    pub segment_limit: u64,
    /// Segments are begun anew at about this many bytes.
    pub segment_bytes: u64,
    /// Threads that write segments, each its own.
    pub writers: usize,
    /// A thread writes at most about this many bytes before it answers.
    pub batch_bytes: u64,
    /// Whether the next segment is filled with zeros in quiet moments. Halves the time of a flush; costs that much more
    /// writing.
    pub zero_fill: bool,
    /// zstd level (1 to 19) for BLOBs that shrink by it; absent: nothing is compressed.
    pub compression: Option<i32>,
    /// Keys that BLOBs are encrypted with before they are written. The first one encrypts, all of them decrypt. Empty:
    /// new BLOBs are not encrypted.
    pub encryption_keys: Vec<StoreKey>,
    /// Whether a store is made where there is none. A store that was there before must not be: its disk may not be
    /// mounted.
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
