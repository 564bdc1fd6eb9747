//! Long-running and scheduled work: import and export of whole trees, backup and restore, jobs on the farm's storage,
//! and the hourly clean-up.
//!
//! This crate uses local files, the API of [`repository::Session`], and below it databases and BLOB stores as a whole.
//! It contains no SQL, no terminal output and no wire format.

mod background;
mod backup;
mod clean_up;
mod crawl;
mod documents;
mod export;
#[cfg(fuzzing)]
pub mod fuzzing {
    //! Entry points for fuzz targets.
    pub use crate::backup::fuzzing::{codec, parts, set};
}
mod import;
pub mod jobs;
mod measuring;
mod posix;
mod progress;
mod recompute;
mod restore;
mod schedule;

pub use backup::{
    BackupLocation, BackupOptions, BackupSummary, Forgotten, Listing, PostgresMethod, Pruned, Retain, SetSummary,
    Unreadable, Verified, backup, forget_backup, list_backups, prune_backups, remove_backup, verify_backups,
};
pub use clean_up::clean_up_hourly;
pub use crawl::keep_search_indexes;
pub use export::{ExportOptions, ExportSummary, export};
pub use import::{ImportOptions, ImportSummary, Mapping, import};
pub use measuring::measure_always;
pub use progress::{Fault, Progress, Reason, lower_priority};
pub use recompute::recompute_always;
pub use restore::{
    ClusterOptions, ClustersSummary, CopiedDatabase, Drilled, ExternalFindings, ItemsOptions, ItemsSummary,
    RepairOptions, RepairSummary, RestoreOptions, RestoreSummary, RestoredCluster, drill, refuse_unfinished,
    repair_from_backup, restore_clusters, restore_content_database, restore_farm, restore_items,
};
pub use schedule::{run_schedule, verify_databases_daily};
