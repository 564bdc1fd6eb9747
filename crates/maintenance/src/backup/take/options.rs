//! Options of a backup.

use std::path::PathBuf;
use std::str::FromStr;

use database::Location;
use model::Error;

use crate::backup::keep::prune::Retain;
use crate::backup::place::location::BackupLocation;

/// Options of a backup: its content and its destination.
#[derive(Clone, Debug)]
pub struct BackupOptions {
    /// Location of the farm's backups.
    pub destination: BackupLocation,
    /// Location of the farm's configuration database.
    pub configuration: Location,
    /// File with the key or passphrase, when the backup is to be encrypted.
    pub key_file: Option<PathBuf>,
    /// Leaves the BLOBs in their stores. The stores then keep these BLOBs as long as the set is kept.
    pub databases_only: bool,
    /// Retention rules that are applied afterwards. None keeps all sets.
    pub retain: Option<Retain>,
    /// Backup method for PostgreSQL databases.
    pub postgres: PostgresMethod,
}

/// Backup method for PostgreSQL databases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostgresMethod {
    /// Each database separately, with `pg_dump`. It can be restored into any server of the same or a newer version.
    #[default]
    Dump,
    /// Each server as a whole, with `pg_basebackup`, including everything else on it.
    BaseBackup,
}

impl FromStr for PostgresMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "dump" => Ok(Self::Dump),
            "basebackup" => Ok(Self::BaseBackup),
            _ => Err(Error::invalid("PostgreSQL databases can be backed up by dump or basebackup")),
        }
    }
}
