//! One conversion under way: what it works on, and what it came to.

use bytes::Bytes;
use model::Error;
use repository::Turn;
use tempfile::TempDir;

/// What a conversion came to; none when the program could make nothing of the document.
pub type Made = Option<Bytes>;

/// What a child works on. It outlives whoever asked for it, until the child is gone.
pub struct Work {
    /// Where it lies.
    pub place: TempDir,
    /// Held until the child is gone.
    #[expect(dead_code, reason = "it is given back by being dropped")]
    pub turn: Turn,
    /// Extension of the document, in lower case.
    pub extension: String,
}

/// Returns the error of a disk that takes nothing more.
pub fn no_room(error: &std::io::Error) -> Error {
    Error::unavailable(format!("the document cannot be converted now: {error}"))
}
