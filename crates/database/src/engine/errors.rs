//! Owns the error codes that callers know, and the errors that both engines report alike.
//!
//! This module must not know a driver.

use model::{Code, Error};

/// The error of every call to a database that has been closed.
pub(super) fn closed() -> Error {
    Error::unavailable("the database was closed; the server is stopping").with_code(Code::Closed)
}

/// The error of a transaction that found no room in the queue in time.
pub(super) fn overloaded() -> Error {
    Error::exhausted("the database is overloaded; try again later").with_code(Code::Overloaded)
}

pub(super) fn unique_violation() -> Error {
    Error::conflict("an entry with this key already exists").with_code(Code::UniqueViolation)
}

pub(super) fn foreign_key_violation() -> Error {
    Error::conflict("the change refers to something that does not exist, or removes something that is still referenced")
        .with_code(Code::ForeignKeyViolation)
}

pub(super) fn not_null_violation() -> Error {
    Error::invalid("a required value is missing").with_code(Code::NotNullViolation)
}

pub(super) fn check_violation() -> Error {
    Error::invalid("a value is outside the range that its column allows").with_code(Code::CheckViolation)
}

pub(super) fn wrong_count(given: usize) -> Error {
    Error::invalid(format!("a statement was given {given} parameters, but its text needs another number of them"))
        .with_code(Code::ParameterCount)
}
