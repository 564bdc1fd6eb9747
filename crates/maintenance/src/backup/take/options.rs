//! The options of a backup.

use std::path::PathBuf;
use std::str::FromStr;

use database::Location;
use model::Error;

use crate::backup::keep::prune::Retain;
use crate::backup::place::location::BackupPlace;

/// What to back up, and where to.
#[derive(Clone, Debug)]
pub struct BackupOptions {
    /// Where the farm's backups are.
    pub destination: BackupPlace,
    /// Where the farm's configuration database is.
    pub configuration: Location,
    /// A file with the key or passphrase, when everything is to be encrypted.
    pub key_file: Option<PathBuf>,
    /// Leave the BLOBs in their stores, which then keep them as long as the set is kept.
    pub databases_only: bool,
    /// Which sets to keep afterwards; all when absent.
    pub retain: Option<Retain>,
    /// How databases of PostgreSQL are taken.
    pub postgres: PostgresMethod,
}

/// How databases of PostgreSQL are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostgresMethod {
    /// Each database by itself, by `pg_dump`: restored into any server of the same or a newer version.
    #[default]
    Dump,
    /// Each server as a whole, by `pg_basebackup`: with everything else that is on it.
    BaseBackup,
}

impl FromStr for PostgresMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "dump" => Ok(Self::Dump),
            "basebackup" => Ok(Self::BaseBackup),
            _ => Err(Error::invalid("databases of PostgreSQL are taken by dump or basebackup")),
        }
    }
}
