//! A conversion in progress: its input, and its result.

use bytes::Bytes;
use model::Error;
use repository::ChildPermit;
use tempfile::TempDir;

/// Result of a conversion: the PDF, or `None` when the program could not convert the document.
pub type Conversion = Option<Bytes>;

/// Input of a child process. It lives until the child has ended, even when the request is cancelled.
pub struct Work {
    /// Directory of the document and the profile.
    pub place: TempDir,
    /// Permit held until the child process has ended.
    #[expect(dead_code, reason = "it is given back by being dropped")]
    pub permit: ChildPermit,
    /// Extension of the document, in lower case.
    pub extension: String,
}

/// Returns the error for a failed write to the work directory, such as a full disk.
pub fn disk_error(error: &std::io::Error) -> Error {
    let text = "the server has no room to convert the document at the moment: try again later, or ask an administrator";
    Error::unavailable(text).with_source(error.to_string())
}
