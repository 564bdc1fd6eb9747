//! Errors of the index: damaged, unavailable, or of another version.

use std::path::Path;

use model::Error;
use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// Turns an error of opening the index in `directory` into one for its administrator.
pub(super) fn index_error(directory: &Path, error: TantivyError) -> Error {
    let place = directory.display();
    match kind(&error) {
        Kind::Damaged => Error::corrupt(format!("the search index in {place} is damaged; the server rebuilds it")),
        Kind::Held => Error::unavailable(format!(
            "the search index in {place} is in use by another process: stop the other server on this data directory"
        )),
        Kind::Away => Error::unavailable(format!(
            "the search index in {place} cannot be read or written: check the disk and its permissions"
        )),
    }
    .with_source(error)
}

/// Turns an error of an index that is open into one for its administrator.
pub(super) fn index_failed(error: TantivyError) -> Error {
    match kind(&error) {
        Kind::Damaged => Error::corrupt("the search index is damaged"),
        Kind::Held => Error::unavailable("the search index is in use by another process"),
        Kind::Away => Error::unavailable("the search index cannot be read or written"),
    }
    .with_source(error)
}

enum Kind {
    Damaged,
    Held,
    Away,
}

fn kind(error: &TantivyError) -> Kind {
    match error {
        TantivyError::LockFailure(..) => Kind::Held,
        TantivyError::IoError(_)
        | TantivyError::OpenDirectoryError(_)
        | TantivyError::OpenWriteError(_)
        | TantivyError::OpenReadError(OpenReadError::IoError { .. })
        | TantivyError::SystemError(_)
        | TantivyError::ErrorInThread(_) => Kind::Away,
        _ => Kind::Damaged,
    }
}
