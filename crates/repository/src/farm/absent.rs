//! Content databases that the farm knows and that are not open: the reasons, and how to bring them back.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use database::configuration::farm::ContentDatabaseRow;
use database::{Damage, Database};
use model::{Code, Error, ErrorKind, Id, Result};

use crate::farm::advice::database_from_backup;

/// Reason: the content of the database is not what was written.
pub(crate) const DAMAGED: &str = "it is damaged";

/// Reason: the disk does not return all data of the database.
const UNREADABLE: &str = "a part of it cannot be read from its disk";

/// Reason: the disk of the database reports errors.
pub(crate) const DISK_FAILS: &str = "its disk reports errors";

/// Interval between attempts to open absent databases.
const REOPEN_INTERVAL: Duration = Duration::from_secs(2);

/// A content database that the farm knows and that is not open.
#[derive(Clone, Debug)]
pub struct AbsentDatabase {
    pub(crate) row: ContentDatabaseRow,
    kind: ErrorKind,
    code: Code,
    message: String,
}

impl AbsentDatabase {
    pub(crate) fn new(row: ContentDatabaseRow, error: &Error) -> Self {
        Self { row, kind: error.kind(), code: error.code(), message: error.report() }
    }

    /// Returns the same entry with an updated row.
    pub(crate) fn with_row(self, row: ContentDatabaseRow) -> Self {
        Self { row, ..self }
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// Returns the full reason, for administrators only: it names paths and addresses.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the reason in words that any user may read.
    pub fn reason(&self) -> &'static str {
        reason(self.kind, self.code)
    }

    /// Returns the code of the error that it was opened with.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns whether the database was found damaged. Otherwise it is missing or does not respond.
    pub fn is_damaged(&self) -> bool {
        self.kind == ErrorKind::Corrupt
            || matches!(self.code, Code::DatabaseUnreadable | Code::DiskError | Code::ChangesLost)
    }

    /// Explains, for the log of the farm in this data directory, how to bring the database back.
    pub(crate) fn recovery_advice(&self, directory: &Path) -> String {
        let restore = || database_from_backup(directory, &self.row.name);
        match (self.code, self.kind) {
            (Code::ChangesLost, _) => format!(
                "first check whether the file was replaced by another one. To continue without the missing changes, \
                 stop the server and remove the file beside the database whose name ends with -commits. {} too",
                restore()
            ),
            (_, ErrorKind::Corrupt) => restore(),
            _ => "check what the error names; `strongroom blobs health` shows more".to_owned(),
        }
    }

    /// Returns the error for a request that needs this database.
    pub(crate) fn error(&self) -> Error {
        Error::unavailable(format!(
            "the content database \"{}\" of this site is not open: {}. An administrator of the farm must bring it back",
            self.row.name,
            self.reason()
        ))
        .with_code(Code::DatabaseAway)
    }
}

/// Returns the reason why a database does not work, in words that any user may read: without paths and addresses.
pub(crate) fn reason(kind: ErrorKind, code: Code) -> &'static str {
    match (code, kind) {
        (Code::DatabaseMissing, _) => "it is missing",
        (Code::DatabaseEmpty, _) => "it is empty",
        (Code::DatabaseForeign | Code::SchemaForeign | Code::SchemaOther, _) => "it was replaced by another database",
        (Code::SchemaNewer, _) => "a newer version of the program wrote it",
        (Code::ChangesLost, _) => "it lacks acknowledged changes, or it was replaced by another database",
        (Code::DatabaseUnreadable, _) => UNREADABLE,
        (Code::DiskError, _) => DISK_FAILS,
        (Code::CannotOpen | Code::ReadOnly, _) => "it cannot be opened",
        (_, ErrorKind::Corrupt) => DAMAGED,
        _ => "it does not answer",
    }
}

/// Returns the reason why an open database is not trusted, in words that any user may read.
pub(crate) fn reason_of(damage: &Damage) -> &'static str {
    if damage.of_disk { UNREADABLE } else { DAMAGED }
}

/// Refuses work that needs all content databases while any of these does not work; each is given with its reason.
pub(crate) fn require_none_troubled<'a>(troubled: impl Iterator<Item = (&'a str, &'static str)>) -> Result<()> {
    let named: Vec<String> = troubled.map(|(name, reason)| format!("\"{name}\" ({reason})")).collect();
    match named.len() {
        0 => Ok(()),
        count => Err(Error::unavailable(format!(
            "the content {} {} {} not available, but this work needs all content databases: bring {} back first, or \
             restore {} from a backup",
            if count == 1 { "database" } else { "databases" },
            named.join(", "),
            if count == 1 { "is" } else { "are" },
            if count == 1 { "it" } else { "them" },
            if count == 1 { "it" } else { "them" },
        ))
        .with_code(Code::DatabaseAway)),
    }
}

/// State of the background search for absent databases.
#[derive(Default)]
pub(crate) struct Reopening(Mutex<Looked>);

#[derive(Default)]
struct Looked {
    busy: bool,
    at: Option<Instant>,
    /// Databases that were opened but are not in the registry yet.
    found: Vec<(Id, Database)>,
}

impl Reopening {
    pub(super) fn begin(&self) -> bool {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.busy || looked.at.is_some_and(|at| at.elapsed() < REOPEN_INTERVAL) {
            return false;
        }
        looked.busy = true;
        true
    }

    pub(super) fn end(&self) {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (looked.busy, looked.at) = (false, Some(Instant::now()));
    }

    pub(super) fn put(&self, id: Id, database: Database) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).found.push((id, database));
    }

    /// Takes the database with this identifier, if it was opened.
    pub(crate) fn take(&self, id: Id) -> Option<Database> {
        let found = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner).found;
        let at = found.iter().position(|(known, _)| *known == id)?;
        Some(found.swap_remove(at).1)
    }
}
