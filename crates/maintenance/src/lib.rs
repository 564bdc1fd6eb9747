//! Work that nobody clicked for, or that takes long: importing and exporting whole trees, jobs on the farm's storage, and the
//! hourly clean-up.
//!
//! This room knows files of the machine, what a [`repository::Session`] offers, and below it databases and BLOB stores as a
//! whole. It writes no SQL and knows no terminal and no wire format.

mod backup;
mod clean_up;
mod documents;
mod export;
#[cfg(fuzzing)]
pub mod fuzzing {
    //! What fuzz targets call.
    pub use crate::backup::fuzzing::{codec, parts, set};
}
mod import;
pub mod jobs;
mod posix;
mod progress;
mod restore;
mod schedule;

pub use backup::{
    BackupOptions, BackupPlace, BackupSummary, Forgotten, Listing, PostgresMethod, Pruned, Retain, SetSummary,
    Unreadable, Verified, backup, forget_backup, list_backups, prune_backups, remove_backup, verify_backups,
};
pub use clean_up::clean_up_hourly;
pub use export::{ExportOptions, ExportSummary, export};
pub use import::{ImportOptions, ImportSummary, Mapping, import};
pub use progress::{Fault, Progress, Reason, stand_back};
pub use restore::{
    ClusterOptions, ClustersSummary, CopiedDatabase, Drilled, ItemsOptions, ItemsSummary, Outside, RepairOptions,
    RepairSummary, RestoreOptions, RestoreSummary, RestoredCluster, drill, refuse_unfinished, repair_from_backup,
    restore_clusters, restore_content_database, restore_farm, restore_items,
};
pub use schedule::{keep_looking, keep_schedule};
