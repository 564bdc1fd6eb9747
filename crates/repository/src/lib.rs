//! The product's operations, behind every protocol and command.
//!
//! [`Repository::as_caller`] returns a [`Session`], the only access to content: each of its methods checks the caller's
//! rights before it reads or changes anything. This crate knows no wire format and no SQL text.

mod blocking;
mod columns;
mod content;
mod documents;
mod farm;
#[cfg(fuzzing)]
pub mod fuzzing;
mod import;
mod items;
mod jobs;
mod lists;
mod locations;
mod locks;
mod look;
mod people;
mod search;
mod session;
mod storage;
mod templates;
mod uploads;

pub use ::database::configuration::backup::{BackupCheck, BackupRow as Backup};
pub use ::search::extract::{
    Content as TextContent, Extract as TextExtract, Format as TextFormat, MAX_MEMBER, Member as ArchiveMember,
    MemberContent, Message as MailMessage,
};
pub use ::search::index::{HitOrder, Passage, Piece, SearchServer};
pub use ::search::programs::{ProgramSettings, ProgramStatus, Programs, office};
pub use ::search::query::{FilterPart, KnownColumns, ReferenceKind, Remark, RemarkReason, SearchQuery, Tolerance};
pub use ::search::sandbox::{ChildPermit, MissingRestriction, Program, Sandbox};
pub use ::search::sheets::{Cell, MAX_WORKBOOK_BYTES, Sheet, SheetRow, escaped, serial};
pub use columns::{
    Column, ColumnChange, ColumnOptions, ContentType, EntryName, ValueNames, ValuesChange, is_built_in_column,
    named_columns,
};
pub use content::event_detail::AUDIT_ACTIONS;
pub use content::events::{AuditFilter, Event};
pub use content::link_access::{LinkContent, LinkEntry, LinkListing, LinkProof, LinkUpload, OpenedLink, UploadLink};
pub use content::permissions::{Explanation, Grant, PermissionTable, RoleGrant};
pub use content::properties::{MAX_PROPERTY_CHARS, Property, PropertyChange};
pub use content::recycle::{Bin, RecycledItem};
pub use content::saved_views::{NewView, SavedView};
pub use content::sharing::{LinkRule, MAX_DAYS_WITHOUT_FRESH_SIGN_IN, MAX_MESSAGE, MAX_SENT_FILES, NewLink, ShareLink};
pub use content::sites::{SiteChange, SiteCollection, SiteUsage};
pub use documents::{
    CheckIn, Content, Destination, OnConflict, Ownership, Preconditions, ReadRange, Rejection, Saved, Submission,
    Upload, UploadOptions, VersionChoice, read_member, shrink_picture,
};
pub use farm::absent::AbsentDatabase;
pub use farm::activity::ActivityMonitor;
pub use farm::advice::{database_from_backup, farm_from_backup, serve_command, shell_word};
pub use farm::backups::NewestBackups;
pub use farm::clean_up::{CleanedUp, RECYCLE_DAYS};
pub use farm::databases::{DELETION_LOCK, Readiness};
pub use farm::farm_audit::{FARM_ACTIONS, FarmFilter};
pub use farm::health::{HEALTH_RULES, HealthFinding, HealthSubject, Severity};
pub use farm::health_limits::HealthLimit;
pub use farm::missing::UnavailableDatabases;
pub use farm::open::{Created, Options};
pub use farm::repository::Repository;
pub use farm::servers::Server;
pub use import::{
    HashedBytes, ImportContent, ImportDocument, ImportFolder, ImportWriter, MAX_IMPORT_BATCH, NewFolder,
    RestoreOutcome, RestoredDocument, ReturningVersion,
};
pub use items::item::{CheckOut, Item, Person, Version, etag, version_of_etag};
pub use items::{
    BulkOutcome, DetailOptions, Details, Filter, Home, ItemEvent, KnownPlace, KnownSite, ListRequest, Listed,
    MAX_ATTACHMENTS, Page, SharedByMe, SharedItems, SharedWithMe, Sort, SortKey, Space, Transfer, Transferred, Usage,
    UsageReport, ValueTest, named_condition, stored_condition,
};
pub use jobs::{
    CheckWork, CollectWork, CrawlWork, DEFAULT_WINDOW_DAYS, Job, JobError, JobProgress, JobRequest, LACKING_CHANGES,
    MigrateWork, QUARANTINE_DAYS, Work,
};
pub use lists::{MAX_CHANGES, RowChange, RowOutcome, RowRevision, require_few_changes};
pub use locations::claim::restoration::{
    require_restorable, require_restoration_outside_farms, require_separate_restoration,
};
pub use locations::data_directory::{DataDirectory, DataDirectoryLock};
pub use locations::markers::{BACKUP_MARKER, real_path};
pub use locations::search_directory::SearchDirectory;
pub use locations::search_home::{Generation, SearchHome};
pub use locks::{Lock, MAX_LOCK, MAX_LOCK_OWNER, NewLock, OfficeLockChange};
pub use look::{LinkTarget, SiteLink, SiteLook, SiteLookChange};
pub use people::*;
pub use search::{
    Containing, DocumentPassages, FindRequest, Found, FoundFacets, FoundItem, FoundSite, IndexEffect, IndexedVersion,
    MAX_FOUND, MAX_MARKED, MAX_QUERY_CHARS, MAX_SAVED_SEARCHES, MAX_SUGGESTED, NewDocuments, SavedSearch,
    SavedSearchCount, SearchComparison, SearchFault, SearchResults, SearchSettings, SearchState, SearchStatus,
    SearchToSave, SuggestedPerson, Suggestions, TextSearch, index_effect, indexed_versions,
};
pub use session::caller::Session;
pub use session::target::Target;
pub use storage::built_in::DATABASE_STORE;
pub use storage::faults::{BlobFault, FaultyDocument, note_unreadable};
pub use storage::handle::{Storage, StorageDatabase};
pub use storage::pending_deletions::{BackupHold, NotedBackup, PendingReclaim};
pub use storage::policies::{NamedTier, PolicyChange, PolicyTarget, StoragePolicy};
pub use storage::provider::{as_directory, open_directory_store, open_object_store};
pub use storage::repair::{Repair, Repairs};
pub use storage::status::{DatabaseStatus, StoreStatus};
pub use storage::stores::NewStore;
pub use templates::{
    MAX_TEMPLATE_BYTES, NewSite, Template, TemplateDraft, TemplateKind, TemplateOrigin, TemplateSummary, TemplateText,
    built_in_templates,
};
pub use uploads::unfinished::UNFINISHED_BYTES;
pub use uploads::{Resumable, UploadPart};
