//! The cost of loading a corpus, whether onto a server or into a directory.

use serde::{Deserialize, Serialize};

/// The cost of loading a corpus.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Loaded {
    /// Number of documents sent; 0 if the corpus was already present.
    pub documents: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}
