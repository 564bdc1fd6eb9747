//! Restore of backups: of a whole farm into a directory, its stores first, then its databases, the configuration
//! database last.
//!
//! A note in the directory keeps all other programs out during a restore. An interrupted restore is simply started
//! again; BLOBs that are already in the stores are not copied a second time.

mod assemble;
mod blobs;
mod cluster;
mod content;
mod drill;
mod drill_stores;
mod farm;
mod items;
mod leftovers;
mod options;
mod place;
mod repair;
mod set;
mod settings;
mod stores;
mod unfinished;

pub use cluster::{ClusterOptions, ClustersSummary, CopiedDatabase, RestoredCluster, restore_clusters};
pub use content::restore_content_database;
pub use drill::{Drilled, drill};
pub use drill_stores::ExternalFindings;
pub use farm::restore_farm;
pub use items::{ItemsOptions, ItemsSummary, restore_items};
pub use options::{RestoreOptions, RestoreSummary};
pub use repair::{RepairOptions, RepairSummary, repair_from_backup};
pub use unfinished::refuse_unfinished;
