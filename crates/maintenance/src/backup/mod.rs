//! Backups: a farm's databases and BLOBs as of one point in time, in a place of their own, each thing stored once over all
//! generations.
//!
//! A set consists of lists of digests; what they name lies in one BLOB store, plain, compressed or sealed. The manifest is
//! written last. This module knows nothing of how a set is brought back.

mod census;
pub(crate) mod chunks;
mod clusters;
mod codec;
mod copying;
mod databases;
pub(crate) mod destination;
pub(crate) mod documents;
mod forget;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod ground;
pub(crate) mod index;
mod key;
mod listing;
mod lock;
pub(crate) mod manifest;
mod pace;
pub(crate) mod papers;
mod place;
mod prune;
mod run;
mod scratch;
pub(crate) mod vault;
mod verify;

use std::path::PathBuf;
use std::str::FromStr;

use database::Location;
use model::Error;

pub(crate) use databases::{FILES, KEY_FILE, LONGEST_FILE};
pub use destination::Unreadable;
pub use forget::{Forgotten, forget_backup};
pub use listing::{Listing, SetSummary, list_backups, prune_backups, remove_backup};
pub use place::BackupPlace;
pub use prune::{Pruned, Retain};
pub use run::{BackupSummary, backup};
pub(crate) use scratch::Scratch;
pub use verify::{Verified, verify_backups};

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
