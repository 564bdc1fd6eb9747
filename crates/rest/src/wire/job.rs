//! Jobs, pending deletions and damaged BLOBs.

use std::collections::BTreeMap;

use model::{JobKind, Result};
use repository::{
    BlobFault, CheckWork, CollectWork, CrawlWork, FaultyDocument, Job, JobError, MigrateWork, PendingReclaim, Work,
};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::item::{Names, PersonJson};
use crate::extract;
use http_core::protocol::time;

/// The work of a job.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum WorkJson {
    /// Moves BLOBs from store to store.
    Migrate(MigrateJson),
    /// Removes BLOBs that nothing refers to.
    Collect(CollectJson),
    /// Reads BLOBs again and follows references.
    Check(CheckJson),
    /// Builds search indexes anew.
    Crawl(CrawlJson),
}

/// Each kind has its own fields and no others, so each is described as a whole. An object schema that refuses unknown
/// fields cannot be extended by another schema.
impl PartialSchema for WorkJson {
    fn schema() -> RefOr<Schema> {
        let kinds = [
            (JobKind::Migrate, "Moves BLOBs from store to store", MigrateJson::schema()),
            (JobKind::Collect, "Removes BLOBs that nothing refers to", CollectJson::schema()),
            (JobKind::Check, "Re-reads BLOBs and follows references", CheckJson::schema()),
            (JobKind::Crawl, "Builds search indexes anew, from all documents", CrawlJson::schema()),
        ];
        let mut any = OneOfBuilder::new().description(Some("The work of a job"));
        for (kind, about, schema) in kinds {
            if let RefOr::T(Schema::Object(fields)) = schema {
                let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind.as_str()]));
                let whole = ObjectBuilder::from(fields).description(Some(about)).property("kind", word);
                any = any.item(whole.required("kind"));
            }
        }
        any.into()
    }
}

impl ToSchema for WorkJson {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        MigrateJson::schemas(schemas);
        CollectJson::schemas(schemas);
        CheckJson::schemas(schemas);
        CrawlJson::schemas(schemas);
    }
}

/// Selects BLOBs and the store to move them to.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MigrateJson {
    /// Only BLOBs of this content database.
    pub database: Option<String>,
    /// Only BLOBs in this store.
    pub from: Option<String>,
    /// The target store; the active store of each content database when absent.
    pub to: Option<String>,
    /// Only BLOBs of at least this many bytes. When absent, BLOBs that leave a database must have the minimum size of
    /// its policy.
    pub minimum_size: Option<u64>,
    /// Only BLOBs of at most this many bytes.
    pub maximum_size: Option<u64>,
    /// Only BLOBs that were stored at least this many days ago.
    pub older_than_days: Option<u32>,
    /// Only BLOBs that were not read for this many days.
    pub unread_days: Option<u32>,
    /// Only documents of this library or site collection (identifier).
    #[schema(value_type = Option<super::rules::Identifier>)]
    pub library: Option<String>,
    /// Bytes per second; unlimited when absent.
    #[schema(minimum = 1)]
    pub rate: Option<u64>,
    /// Stop after this many BLOBs.
    pub limit: Option<u64>,
    /// Excludes BLOBs in these stores.
    pub not_from: Vec<String>,
}

/// Settings of a collection.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CollectJson {
    /// Days for which BLOBs are kept after the last document that referred to them was permanently deleted.
    pub window_days: u32,
    /// Hours after which a BLOB that no database knows is put into quarantine, at least 1.
    #[schema(minimum = 1)]
    pub orphan_hours: u32,
    /// Days for which they stay there.
    pub quarantine_days: u32,
    /// Only report what would be done.
    pub dry_run: bool,
    /// Percentage of all BLOBs that may be deleted. If more would be, the collection stops before it deletes anything.
    #[schema(maximum = 100)]
    pub share: u8,
    /// Seconds after which the job pauses.
    #[schema(minimum = 1)]
    pub time_limit: Option<u64>,
    /// Limit on deleted bytes per second.
    #[schema(minimum = 1)]
    pub rate: Option<u64>,
}

/// Scope of a check.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckJson {
    /// Only this store.
    pub store: Option<String>,
    /// Bytes per second; unlimited when absent.
    #[schema(minimum = 1)]
    pub rate: Option<u64>,
}

/// Scope of a full crawl.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlJson {
    /// Only the documents of this content database.
    pub database: Option<String>,
    /// Bytes of documents per second; unlimited when absent.
    #[schema(minimum = 1)]
    pub rate: Option<u64>,
}

impl Default for CollectJson {
    fn default() -> Self {
        CollectWork::default().into()
    }
}

impl From<CollectWork> for CollectJson {
    fn from(work: CollectWork) -> Self {
        let CollectWork { window_days, orphan_hours, quarantine_days, dry_run, share, time_limit, rate } = work;
        Self { window_days, orphan_hours, quarantine_days, dry_run, share, time_limit, rate }
    }
}

impl From<Work> for WorkJson {
    fn from(work: Work) -> Self {
        match work {
            Work::Migrate(work) => Self::Migrate(MigrateJson {
                database: work.database,
                from: work.from,
                to: work.to,
                minimum_size: work.minimum_size,
                maximum_size: work.maximum_size,
                older_than_days: work.older_than_days,
                unread_days: work.unread_days,
                library: work.library.map(|library| library.to_string()),
                rate: work.rate,
                limit: work.limit,
                not_from: work.not_from,
            }),
            Work::Collect(work) => Self::Collect(work.into()),
            Work::Check(CheckWork { store, rate }) => Self::Check(CheckJson { store, rate }),
            Work::Crawl(CrawlWork { database, rate }) => Self::Crawl(CrawlJson { database, rate }),
        }
    }
}

impl WorkJson {
    /// Converts the JSON form to the repository's type.
    pub fn read(self) -> Result<Work> {
        Ok(match self {
            Self::Migrate(form) => Work::Migrate(MigrateWork {
                database: form.database,
                from: form.from,
                to: form.to,
                minimum_size: form.minimum_size,
                maximum_size: form.maximum_size,
                older_than_days: form.older_than_days,
                unread_days: form.unread_days,
                library: form.library.map(|id| extract::id(&id)).transpose()?.map(model::Id::get),
                rate: form.rate,
                limit: form.limit,
                not_from: form.not_from,
            }),
            Self::Collect(form) => {
                let CollectJson { window_days, orphan_hours, quarantine_days, dry_run, share, time_limit, rate } = form;
                Work::Collect(CollectWork {
                    window_days,
                    orphan_hours,
                    quarantine_days,
                    dry_run,
                    share,
                    time_limit,
                    rate,
                })
            }
            Self::Check(CheckJson { store, rate }) => Work::Check(CheckWork { store, rate }),
            Self::Crawl(CrawlJson { database, rate }) => Work::Crawl(CrawlWork { database, rate }),
        })
    }
}

/// A job.
#[derive(Serialize, ToSchema)]
pub struct JobJson {
    /// Identifier.
    pub id: String,
    /// Its task.
    pub work: WorkJson,
    /// `waiting`, `running`, `paused`, `finished`, `incomplete` (it ran to the end, but some items failed), `failed` or
    /// `aborted`.
    pub state: &'static str,
    /// Latest request to its runner: `run`, `pause` or `abort`.
    pub wish: &'static str,
    /// Outcome.
    pub message: String,
    /// Current phase.
    pub phase: String,
    /// BLOBs or documents processed.
    pub items: u64,
    /// Number of BLOBs or documents to process, as far as known; otherwise 0.
    pub total_items: u64,
    /// Number of bytes processed.
    pub bytes: u64,
    /// Number of bytes to process, as far as known; otherwise 0.
    pub total_bytes: u64,
    /// Number of BLOBs that could not be processed.
    pub failed: u64,
    /// Seconds that it has worked.
    pub seconds: u64,
    /// Bytes per second so far.
    pub bytes_per_second: Option<u64>,
    /// Seconds left at that rate.
    pub seconds_left: Option<u64>,
    /// Results by name, such as `deleted_bytes`.
    pub results: BTreeMap<String, u64>,
    /// Time of the request.
    pub created_at: String,
    /// User who requested it.
    pub created_by: PersonJson,
    /// Time of the first start.
    pub started_at: Option<String>,
    /// Time of the end.
    pub finished_at: Option<String>,
}

impl JobJson {
    /// Creates the JSON form of a job, with the name of the user who requested it.
    pub fn new(job: Job, names: &Names) -> Self {
        let (rate, left) = (job.progress.bytes_per_second(), job.progress.seconds_left());
        let progress = job.progress;
        Self {
            id: job.id.to_string(),
            work: job.work.into(),
            state: job.status.as_str(),
            wish: job.wish.as_str(),
            message: job.message,
            phase: progress.phase,
            items: progress.items,
            total_items: progress.total_items,
            bytes: progress.bytes,
            total_bytes: progress.total_bytes,
            failed: progress.failed,
            seconds: progress.seconds,
            bytes_per_second: rate,
            seconds_left: left,
            results: progress.results,
            created_at: time::format(job.created_at),
            created_by: names.person(job.created_by),
            started_at: job.started_at.map(time::format),
            finished_at: job.finished_at.map(time::format),
        }
    }
}

/// An error of a job.
#[derive(Serialize, ToSchema)]
pub struct JobErrorJson {
    /// Subject.
    pub item: String,
    /// Description of what happened.
    pub message: String,
    /// Number of attempts.
    pub attempts: i64,
    /// Time of the last attempt.
    pub at: String,
}

impl From<JobError> for JobErrorJson {
    fn from(error: JobError) -> Self {
        Self { item: error.item, message: error.message, attempts: error.attempts, at: time::format(error.at) }
    }
}

/// A group of BLOBs that are pending deletion.
#[derive(Serialize, ToSchema)]
pub struct ReclaimJson {
    /// Name of the content database that records them.
    pub database: String,
    /// Name of the store that holds them; null while the content database still has a reference to them, whatever the
    /// store.
    pub store: Option<String>,
    /// `unreferenced` (no document uses it), `deleted`, `moved` or `orphan`.
    pub reason: &'static str,
    /// Number of BLOBs.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Time since which the oldest of them has been pending.
    pub since: String,
    /// Time from which a collection with the default windows deletes the oldest of them.
    pub due: String,
    /// True if a backup still needs all of them.
    pub held_by_backup: bool,
}

impl From<PendingReclaim> for ReclaimJson {
    fn from(pending: PendingReclaim) -> Self {
        Self {
            database: pending.database,
            store: Some(pending.store).filter(|store| !store.is_empty()),
            reason: pending.reason.as_str(),
            blobs: pending.blobs,
            bytes: pending.bytes,
            since: time::format(pending.since),
            due: time::format(pending.due),
            held_by_backup: pending.held,
        }
    }
}

/// A missing or damaged BLOB.
#[derive(Serialize, ToSchema)]
pub struct FaultJson {
    /// Digest of its bytes: BLAKE3-256 in hexadecimal digits.
    pub digest: String,
    /// Name of the content database that needs it.
    pub database: String,
    /// Name of the store that should hold it.
    pub store: String,
    /// `missing` or `damaged`.
    pub state: &'static str,
    /// Location and details of the fault.
    pub detail: String,
    /// Time of the first detection.
    pub found_at: String,
    /// Time at which its loss was accepted; null if it was not.
    pub accepted_at: Option<String>,
    /// User who accepted the loss.
    pub accepted_by: Option<PersonJson>,
    /// Documents that have a version with these bytes, at most 20.
    pub documents: Vec<FaultyDocumentJson>,
}

/// A document that has a version with missing or damaged bytes.
#[derive(Serialize, ToSchema)]
pub struct FaultyDocumentJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// Site, library and path; null for a document in a recycle bin, or one that the caller may not see.
    pub path: Option<String>,
}

impl FaultJson {
    /// Creates the JSON form of a fault, with the name of the user who accepted it.
    pub fn new(fault: BlobFault, names: &Names) -> Self {
        let document = |FaultyDocument { id, name, path }| FaultyDocumentJson { id: id.to_string(), name, path };
        Self {
            digest: fault.digest.to_string(),
            database: fault.database,
            store: fault.store,
            state: fault.state.as_str(),
            detail: fault.detail,
            found_at: time::format(fault.found_at),
            accepted_at: fault.accepted.map(|(at, _)| time::format(at)),
            accepted_by: fault.accepted.map(|(_, by)| names.person(by)),
            documents: fault.documents.into_iter().map(document).collect(),
        }
    }
}

/// Source of a repaired BLOB.
#[derive(Serialize, ToSchema)]
pub struct Repaired {
    /// Name of the store that had it.
    pub from: String,
}
