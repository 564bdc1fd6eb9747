//! Owns the meaning of each PostgreSQL error for a caller.

use model::{Code, Error};
use tokio_postgres::error::SqlState;

use crate::engine::at::ErrorLocation;
use crate::engine::errors::{check_violation, foreign_key_violation, not_null_violation, unique_violation};

/// The consequence of an error for its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The transaction has failed and a retry is pointless.
    Final,
    /// A retry of the same transaction may succeed.
    Again,
    /// The connection was lost before COMMIT was sent, so nothing was changed.
    Lost,
}

/// Classifies an error by whether the same transaction may be retried.
pub(super) fn failure(error: &tokio_postgres::Error) -> Failure {
    if is_lost(error) {
        return Failure::Lost;
    }
    match error.code() {
        Some(code)
            if *code == SqlState::T_R_SERIALIZATION_FAILURE
                || *code == SqlState::T_R_DEADLOCK_DETECTED
                // A schema upgrade by another process made a prepared statement stale.
                || *code == SqlState::FEATURE_NOT_SUPPORTED
                || *code == SqlState::INVALID_SQL_STATEMENT_NAME =>
        {
            Failure::Again
        }
        _ => Failure::Final,
    }
}

/// Returns whether the connection is unusable after this error.
pub(super) fn is_lost(error: &tokio_postgres::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    match error.code() {
        Some(code) => code.code().starts_with("08") || code.code().starts_with("57P0"),
        None => std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>()),
    }
}

/// Converts an error of a statement into the common error type.
pub(super) fn classify(error: tokio_postgres::Error, server: &str) -> Error {
    if is_lost(&error) {
        return unreachable(server).with_source(ErrorLocation::new(server, error));
    }
    let Some(state) = error.code() else {
        return Error::invalid("a statement or one of its values is not valid in this database")
            .with_code(Code::InvalidStatement)
            .with_source(error);
    };
    let translated = match state.code() {
        "23505" | "23P01" => unique_violation(),
        "23503" => foreign_key_violation(),
        "23502" => not_null_violation(),
        "23514" => check_violation(),
        "40001" | "40P01" => {
            Error::unavailable("the change conflicted with other changes too often; nothing was changed, try again")
                .with_code(Code::SerializationFailure)
        }
        "55P03" => {
            Error::unavailable("another transaction holds a lock that this one needs; nothing was changed, try again")
                .with_code(Code::LockTimeout)
        }
        "25006" => read_only(),
        "53100" => Error::exhausted("the disk of a database server is full; nothing was changed. Reading still works")
            .with_code(Code::DiskFull),
        "57014" => Error::unavailable(
            "a database server cancelled the operation, because it took too long or an administrator ended it; nothing \
             was changed. Try again later",
        )
        .with_code(Code::Cancelled),
        code => by_class(code),
    };
    translated.with_source(ErrorLocation::new(server, error))
}

fn by_class(code: &str) -> Error {
    match code.get(..2).unwrap_or_default() {
        "22" => Error::invalid("a value does not fit its column").with_code(Code::TypeMismatch),
        "23" => {
            Error::conflict("the change violates a constraint of the database").with_code(Code::ConstraintViolation)
        }
        "28" => Error::unavailable("a database server refused the user or password").with_code(Code::LoginRefused),
        "3D" => Error::unavailable("a database does not exist; create it first").with_code(Code::NoSuchDatabase),
        "42" if code == "42501" => {
            Error::unavailable("the user of the database server lacks a privilege in the database; grant it")
                .with_code(Code::NoDatabaseRight)
        }
        "53" => Error::exhausted("a database server has no resources left; try again later")
            .with_code(Code::ServerExhausted),
        "58" => Error::unavailable("a database server could not read or write its disk").with_code(Code::DiskError),
        "XX" => Error::corrupt("a database server reports damaged data; see its log").with_code(Code::DatabaseCorrupt),
        "40" | "55" | "57" => {
            Error::unavailable("the database server ended the operation; nothing was changed, try again")
                .with_code(Code::Aborted)
        }
        _ => Error::invalid("a statement is not valid in this database").with_code(Code::InvalidStatement),
    }
}

/// The server does not answer.
pub(super) fn unreachable(server: &str) -> Error {
    Error::unavailable("a database server does not answer; nothing was changed. Check that it runs and can be reached")
        .with_code(Code::ServerUnreachable)
        .with_source(ErrorLocation::silent(server))
}

/// The connection was cut while COMMIT was in flight.
pub(super) fn outcome_unknown(server: &str) -> Error {
    Error::unavailable(
        "the connection to a database server was lost during the commit; check whether the change was made before you \
         try again",
    )
    .with_code(Code::OutcomeUnknown)
    .with_source(ErrorLocation::silent(server))
}

fn read_only() -> Error {
    Error::unavailable("a database server accepts no changes; it is a standby or set read-only")
        .with_code(Code::ReadOnly)
}
