//! Owns the meaning of each SQLite error for a caller.

use std::path::Path;

use model::{Code, Error};
use rusqlite::ffi;

use crate::engine::at::ErrorLocation;
use crate::engine::errors::{check_violation, foreign_key_violation, not_null_violation, unique_violation};

/// Converts an error of SQLite on the file at `path` into the common error type.
pub(super) fn classify(error: rusqlite::Error, path: &Path) -> Error {
    let rusqlite::Error::SqliteFailure(failure, _) = &error else {
        return match error {
            rusqlite::Error::SqlInputError { error: failure, .. } if is_damage(failure.extended_code) => {
                damaged(path).with_source(ErrorLocation::new(path.display(), error))
            }
            _ => Error::invalid("a statement is not valid in this database")
                .with_code(Code::InvalidStatement)
                .with_source(error),
        };
    };
    let extended = failure.extended_code;
    let translated = match extended & 0xff {
        ffi::SQLITE_CONSTRAINT => constraint(extended),
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => busy(path),
        ffi::SQLITE_FULL => full(path),
        // The shared WAL index could not grow, which only a full disk explains.
        ffi::SQLITE_IOERR if extended == ffi::SQLITE_IOERR_SHMSIZE => full(path),
        ffi::SQLITE_IOERR if extended == ffi::SQLITE_IOERR_DATA => damaged(path),
        ffi::SQLITE_IOERR if extended == ffi::SQLITE_IOERR_READ => unreadable(path),
        ffi::SQLITE_IOERR => disk_error(),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => damaged(path),
        ffi::SQLITE_READONLY => read_only(path),
        ffi::SQLITE_CANTOPEN => Error::unavailable(
            "a database cannot be opened; check that its directory exists and that the server may write there",
        )
        .with_code(Code::CannotOpen),
        ffi::SQLITE_PERM | ffi::SQLITE_AUTH => read_only(path),
        ffi::SQLITE_TOOBIG => Error::exhausted("a value is too large for the database").with_code(Code::ValueTooLarge),
        ffi::SQLITE_NOMEM => Error::exhausted("the server is out of memory").with_code(Code::OutOfMemory),
        ffi::SQLITE_INTERRUPT => Error::unavailable("the operation was interrupted").with_code(Code::Interrupted),
        _ => Error::invalid("a statement is not valid in this database").with_code(Code::InvalidStatement),
    };
    translated.with_source(ErrorLocation::new(path.display(), error))
}

fn disk_error() -> Error {
    Error::unavailable(
        "the disk reported an error while a database was read or written; nothing was changed. An administrator must \
         check the disk and the server's log",
    )
    .with_code(Code::DiskError)
}

/// Classifies the error of a failed COMMIT. If the flush itself failed, the pages written before it may still be
/// complete after a crash, so the outcome of the transaction is unknown.
pub(super) fn classify_commit(error: rusqlite::Error, path: &Path) -> Error {
    match &error {
        rusqlite::Error::SqliteFailure(failure, _)
            if matches!(failure.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC) =>
        {
            Error::unavailable(
                "the disk failed during a commit; check whether the change was made before you try again, and check \
                 the disk and the server's log",
            )
            .with_code(Code::OutcomeUnknown)
            .with_source(ErrorLocation::new(path.display(), error))
        }
        _ => classify(error, path),
    }
}

/// Returns whether the disk is full.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _)
        if failure.extended_code & 0xff == ffi::SQLITE_FULL || failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}

/// Returns whether this is a disk error, after which the connection is no longer trusted.
pub(super) fn is_disk_error(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code & 0xff == ffi::SQLITE_IOERR)
}

/// Returns whether a constraint that is checked at the end of a transaction has failed.
pub(super) fn is_constraint(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return false };
    failure.extended_code & 0xff == ffi::SQLITE_CONSTRAINT
}

/// Returns whether another connection holds the lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _)
        if matches!(failure.extended_code & 0xff, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED))
}

pub(super) fn is_damage(extended: i32) -> bool {
    matches!(extended & 0xff, ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB)
}

fn constraint(extended: i32) -> Error {
    match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            unique_violation()
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => foreign_key_violation(),
        ffi::SQLITE_CONSTRAINT_NOTNULL => not_null_violation(),
        ffi::SQLITE_CONSTRAINT_CHECK => check_violation(),
        ffi::SQLITE_CONSTRAINT_DATATYPE => {
            Error::invalid("a value has the wrong type for its column").with_code(Code::TypeMismatch)
        }
        _ => Error::conflict("the change violates a constraint of the database").with_code(Code::ConstraintViolation),
    }
}

pub(super) fn full(path: &Path) -> Error {
    Error::exhausted(
        "the disk that holds a database is full; nothing was changed. Reading still works; free space on that disk",
    )
    .with_code(Code::DiskFull)
    .with_source(ErrorLocation::silent(path.display()))
}

fn busy(path: &Path) -> Error {
    Error::unavailable("another process has been writing to a database for too long; try again when it has finished")
        .with_code(Code::Busy)
        .with_source(ErrorLocation::silent(path.display()))
}

pub(super) fn damaged(path: &Path) -> Error {
    Error::corrupt("a file is damaged or is not a database; restore it from a backup. The file was not changed")
        .with_code(Code::DatabaseCorrupt)
        .with_source(ErrorLocation::silent(path.display()))
}

pub(super) fn unreadable(path: &Path) -> Error {
    Error::unavailable(
        "a part of a database cannot be read from its disk; nothing was changed. An administrator must check the disk \
         and the server's log",
    )
    .with_code(Code::DatabaseUnreadable)
    .with_source(ErrorLocation::silent(path.display()))
}

pub(super) fn read_only(path: &Path) -> Error {
    Error::unavailable(
        "a database cannot be written; give the user that runs the server the right to write the file and its \
         directory, and check that the file system is not mounted read-only",
    )
    .with_code(Code::ReadOnly)
    .with_source(ErrorLocation::silent(path.display()))
}
