//! Owns the codes of errors that callers know, and the errors that both engines tell alike.
//!
//! This module must not know a driver.

use model::Error;

/// Code of the error for a disk that fails.
pub(super) const DISK_ERROR: &str = "disk_error";
/// Code of the error for a copy of a database that its disk does not take, or gives back as something else.
pub const COPY_FAILED: &str = "copy_failed";
/// Code of the error for pages of a file that are not what their checksums say.
pub const WRONG_CHECKSUM: &str = "page_checksum";
/// Code of the error for a transaction that found no place in time, because its database has too much to do.
pub const OVERLOADED: &str = "overloaded";
/// Code of the error for a transaction that waited in vain for a file that another process writes.
pub const BUSY: &str = "busy";

/// Code of the error for a database that is not what was written.
pub(super) const DAMAGED: &str = "database_corrupt";
/// Code of the error for a database of which the disk does not give all.
pub(super) const UNREADABLE: &str = "database_unreadable";

/// The error of everything that is asked of a database after it was closed.
pub(super) fn closed() -> Error {
    Error::unavailable("the database was closed; the server is stopping").with_code("closed")
}

/// The error of a transaction that found no place in time.
pub(super) fn overloaded() -> Error {
    Error::exhausted("the database has more to do than it can; try again later").with_code(OVERLOADED)
}

pub(super) fn unique_violation() -> Error {
    Error::conflict("something with this key exists already").with_code("unique_violation")
}

pub(super) fn foreign_key_violation() -> Error {
    Error::conflict(
        "the change refers to something that does not exist, or removes something that is still referred to",
    )
    .with_code("foreign_key_violation")
}

pub(super) fn not_null_violation() -> Error {
    Error::invalid("a value that is required is missing").with_code("not_null_violation")
}

pub(super) fn check_violation() -> Error {
    Error::invalid("a value is outside of what its column may hold").with_code("check_violation")
}

pub(super) fn wrong_count(given: usize) -> Error {
    Error::invalid(format!("a statement was given {given} parameters, which is not what its text asks for"))
        .with_code("parameter_count")
}
