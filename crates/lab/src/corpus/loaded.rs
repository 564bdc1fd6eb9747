//! The cost of bringing a corpus to where it is wanted, whichever way it went.

use serde::{Deserialize, Serialize};

/// The cost of loading a corpus.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Loaded {
    /// Documents that were sent; 0 when all were there.
    pub documents: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}
