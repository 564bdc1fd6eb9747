//! Errors of documents and of the children that read them.

use std::io;
use std::time::Duration;

use model::{Code, Error};

/// The error for a document that took longer than this to read.
pub fn too_long(limit: Duration) -> Error {
    Error::invalid(format!("reading it took longer than {} seconds", limit.as_secs())).with_code(Code::TookTooLong)
}

/// The error for a document on which a child failed.
pub fn reader_failed() -> Error {
    Error::invalid("the program that reads documents failed on this document").with_code(Code::ReaderFailed)
}

/// The error while no child can be started.
pub fn cannot_start(error: &io::Error) -> Error {
    Error::unavailable(format!("documents cannot be read now: {error}"))
}

/// The error while the server stops.
pub fn stops() -> Error {
    Error::unavailable("the server is stopping")
}

/// Limit on the characters of a reason.
const MAX_REASON: usize = 200;

/// The error for a document that a reader refused with this code, for this reason. The reason may quote the document:
/// it is shortened, and control characters are replaced.
pub fn refused(code: &str, why: &str) -> Error {
    let code = Code::parse(code).filter(|code| matches!(code, Code::TooLarge | Code::TooMuchAtOnce));
    let why: String = why.chars().take(MAX_REASON).map(|c| if c.is_control() { ' ' } else { c }).collect();
    Error::invalid(why).with_code(code.unwrap_or(Code::NotReadable))
}
