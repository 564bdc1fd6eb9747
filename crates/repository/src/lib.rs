//! What the product does: the deep room behind every protocol and command.
//!
//! [`Repository::as_caller`] gives a [`Session`], the only way to content: each of its methods decides what the
//! caller may do before it reads or changes anything. This room knows no wire format and no SQL text.

mod access;
mod accesses;
mod activity;
mod address;
mod advice;
mod attach;
mod busy;
mod clean_up;
mod clock;
mod closed_stores;
mod columns;
mod database_store;
mod databases;
mod detail;
mod documents;
mod events;
mod farm;
mod farm_log;
mod faults;
mod forgotten;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gauge;
mod glance;
mod health;
mod health_limits;
mod import;
mod items;
mod jobs;
mod libraries;
mod locate;
mod locks;
mod map;
mod missing;
mod object_settings;
mod people;
mod permissions;
mod place;
mod placement;
mod policies;
mod properties;
mod provider;
mod reclaim;
mod recycle;
mod repair;
mod repetition;
mod resumable;
mod root;
mod saved_views;
mod seal;
mod sealed;
mod servers;
mod session;
mod sharing;
mod shred;
mod signs;
mod sites;
mod status;
mod storage;
mod store_states;
mod stores;
mod unfinished;
mod view;
mod ways;

pub use activity::{SERVER_LOCK, Watch};
pub use address::Target;
pub use advice::{database_from_backup, farm_from_backup};
pub use attach::{AbsentDatabase, DATABASE_AWAY};
pub use clean_up::{CleanedUp, RECYCLE_DAYS};
pub use columns::{Column, ColumnChange, ContentType, ValuesChange};
pub use databases::{DELETING, Readiness};
pub use documents::{
    CheckIn, Content, Destination, OnConflict, Ownership, Preconditions, ReadRange, Saved, Upload, UploadOptions,
    VersionChoice,
};
pub use events::{AUDIT_ACTIONS, AuditFilter, Event};
pub use farm::{Created, DATABASE_STORE, Options, Repository};
pub use farm_log::{FARM_ACTIONS, FarmFilter};
pub use faults::{BlobFault, FaultyDocument, note_unreadable};
pub use health::{HEALTH_RULES, HealthFinding, HealthSubject, Severity};
pub use health_limits::HealthLimit;
pub use import::{
    HashedBytes, ImportContent, ImportDocument, ImportFolder, ImportWriter, MAX_IMPORT_BATCH, NewFolder, Returned,
    ReturningDocument, ReturningVersion,
};
pub use items::{
    BulkOutcome, Details, Filter, Found, Happening, Home, KnownSite, ListRequest, Listed, MOST_FOUND, Page, Sort,
    SortKey, Space, Transfer, Transferred, ValueTest, Wanted,
};
pub use jobs::{
    CheckWork, CollectWork, DEFAULT_WINDOW_DAYS, Figures, Job, JobError, JobRequest, MigrateWork, QUARANTINE_DAYS, Work,
};
pub use locks::{LONGEST_LOCK, Lock, MAX_LOCK_OWNER, NewLock};
pub use missing::Missing;
pub use people::*;
pub use permissions::{Explanation, Grant, PermissionTable};
pub use policies::{NamedTier, PolicyChange, PolicyTarget, StoragePolicy};
pub use properties::{MAX_PROPERTY_CHARS, Property, PropertyChange};
pub use provider::{as_directory, open_directory_store, open_object_store};
pub use reclaim::{BackupHold, NotedBackup, PendingReclaim};
pub use recycle::{Bin, RecycledItem};
pub use repair::{Repair, Repairs};
pub use resumable::{Part, Resumable};
pub use saved_views::{NewView, SavedView};
pub use search::extract::{Content as TextContent, Extract as TextExtract, Format as TextFormat};
pub use search::sandbox::{Lack, Program, Sandbox, Turn};
pub use servers::Server;
pub use session::Session;
pub use sharing::{LinkRule, NewLink, OpenedLink, ShareLink, UNPROVED_DAYS};
pub use signs::{
    BACKUP_MARK, Marked, Sign, prefix_within, real_path, sign_of_prefix, sign_within, signs_around, signs_around_prefix,
};
pub use sites::{SiteChange, SiteCollection, SiteUsage};
pub use status::{DatabaseStatus, StoreStatus};
pub use storage::{Storage, StorageDatabase};
pub use store_states::StoreState;
pub use stores::NewStore;
pub use unfinished::UNFINISHED_BYTES;
pub use view::{CheckOut, Item, Person, Version};
