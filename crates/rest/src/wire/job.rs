//! Jobs, what waits to be deleted, and damaged BLOBs.

use std::collections::BTreeMap;

use model::Result;
use repository::{BlobFault, CheckWork, CollectWork, FaultyDocument, Job, JobError, MigrateWork, PendingReclaim, Work};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::item::{Names, PersonJson};
use crate::extract;
use http_core::protocol::time;

/// What a job does.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum WorkJson {
    /// Moves BLOBs from store to store.
    Migrate(MigrateJson),
    /// Removes BLOBs that nothing refers to.
    Collect(CollectJson),
    /// Re-reads BLOBs and follows references.
    Check(CheckJson),
}

/// Each kind has its own fields and no others, so that each is described as a whole: an object that refuses unknown
/// fields cannot be completed by another one.
impl PartialSchema for WorkJson {
    fn schema() -> RefOr<Schema> {
        let kinds = [
            ("migrate", "Moves BLOBs from store to store", MigrateJson::schema()),
            ("collect", "Removes BLOBs that nothing refers to", CollectJson::schema()),
            ("check", "Re-reads BLOBs and follows references", CheckJson::schema()),
        ];
        let mut any = OneOfBuilder::new().description(Some("What a job does"));
        for (kind, about, schema) in kinds {
            if let RefOr::T(Schema::Object(fields)) = schema {
                let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind]));
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
    }
}

/// Which BLOBs to move where.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MigrateJson {
    /// Only those of this content database.
    pub database: Option<String>,
    /// Only what is in this store.
    pub from: Option<String>,
    /// The store that they move to; the active store of each content database when absent.
    pub to: Option<String>,
    /// Only those of at least so many bytes; when absent, what leaves a database has the minimum size of its policy.
    pub minimum_size: Option<u64>,
    /// Only those of at most so many bytes.
    pub maximum_size: Option<u64>,
    /// Only what was stored at least so many days ago.
    pub older_than_days: Option<u32>,
    /// Only what was not read for so many days.
    pub unread_days: Option<u32>,
    /// Only documents of this library or site collection, by identifier.
    #[schema(value_type = Option<super::rules::Identifier>)]
    pub library: Option<String>,
    /// Bytes a second; as fast as it goes when absent.
    #[schema(minimum = 1)]
    pub rate: Option<u64>,
    /// Stop after so many BLOBs.
    pub limit: Option<u64>,
    /// Nothing that is in one of these stores.
    pub not_from: Vec<String>,
}

/// How to collect.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CollectJson {
    /// Days that BLOBs are kept after the last document that had them is gone for good.
    pub window_days: u32,
    /// Hours after which what no database knows is put into quarantine, at least 1.
    #[schema(minimum = 1)]
    pub orphan_hours: u32,
    /// Days that it stays there.
    pub quarantine_days: u32,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Percent of all BLOBs that may be deleted; more stops the collection before it deletes anything.
    #[schema(maximum = 100)]
    pub share: u8,
    /// Seconds after which the job pauses.
    #[schema(minimum = 1)]
    pub time_limit: Option<u64>,
    /// Bytes a second that may be deleted.
    #[schema(minimum = 1)]
    pub rate: Option<u64>,
}

/// What to check.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckJson {
    /// Only this store.
    pub store: Option<String>,
    /// Bytes a second; as fast as it goes when absent.
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
        }
    }
}

impl WorkJson {
    /// The work that is meant.
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
        })
    }
}

/// A job.
#[derive(Serialize, ToSchema)]
pub struct JobJson {
    /// Identifier.
    pub id: String,
    /// What it does.
    pub work: WorkJson,
    /// `waiting`, `running`, `paused`, `finished`, `incomplete` (it came to its end, but could not do everything), `failed` or
    /// `aborted`.
    pub state: String,
    /// What its runner was asked for last: `run`, `pause` or `abort`.
    pub wish: String,
    /// How it ended.
    pub message: String,
    /// What it does at the moment.
    pub phase: String,
    /// BLOBs that are done.
    pub items: u64,
    /// BLOBs that there are to do, as far as that is known; else 0.
    pub total_items: u64,
    /// Bytes that are done.
    pub bytes: u64,
    /// Bytes that there are to do, as far as that is known; else 0.
    pub total_bytes: u64,
    /// BLOBs that could not be done.
    pub failed: u64,
    /// Seconds that it worked.
    pub seconds: u64,
    /// Bytes a second so far.
    pub bytes_per_second: Option<u64>,
    /// Seconds that are left at that rate.
    pub seconds_left: Option<u64>,
    /// Results by name, such as `deleted_bytes`.
    pub results: BTreeMap<String, u64>,
    /// When it was asked for.
    pub created_at: String,
    /// By whom.
    pub created_by: PersonJson,
    /// When it was begun first.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
}

impl JobJson {
    /// A job with the name of who asked for it.
    pub fn new(job: Job, names: &Names) -> Self {
        let (rate, left) = (job.figures.bytes_per_second(), job.figures.seconds_left());
        let figures = job.figures;
        Self {
            id: job.id.to_string(),
            work: job.work.into(),
            state: job.state,
            wish: job.wish,
            message: job.message,
            phase: figures.phase,
            items: figures.items,
            total_items: figures.total_items,
            bytes: figures.bytes,
            total_bytes: figures.total_bytes,
            failed: figures.failed,
            seconds: figures.seconds,
            bytes_per_second: rate,
            seconds_left: left,
            results: figures.results,
            created_at: time::format(job.created_at),
            created_by: names.person(job.created_by),
            started_at: job.started_at.map(time::format),
            finished_at: job.finished_at.map(time::format),
        }
    }
}

/// Something that a job could not do.
#[derive(Serialize, ToSchema)]
pub struct JobErrorJson {
    /// What it is about.
    pub item: String,
    /// What happened.
    pub message: String,
    /// How often it was tried.
    pub attempts: i64,
    /// When last.
    pub at: String,
}

impl From<JobError> for JobErrorJson {
    fn from(error: JobError) -> Self {
        Self { item: error.item, message: error.message, attempts: error.attempts, at: time::format(error.at) }
    }
}

/// What waits to be deleted.
#[derive(Serialize, ToSchema)]
pub struct ReclaimJson {
    /// Name of the content database that knows of it.
    pub database: String,
    /// Name of the store that it lies in; null for what still has its reference, in whichever store.
    pub store: Option<String>,
    /// `unreferenced` (no document has it), `deleted`, `moved` or `orphan`.
    pub reason: String,
    /// BLOBs.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Since when the oldest of them waits.
    pub since: String,
    /// From when on a collection with the usual windows deletes the oldest of them.
    pub due: String,
    /// Whether a backup still needs all of them.
    pub held_by_backup: bool,
}

impl From<PendingReclaim> for ReclaimJson {
    fn from(pending: PendingReclaim) -> Self {
        Self {
            database: pending.database,
            store: Some(pending.store).filter(|store| !store.is_empty()),
            reason: pending.reason,
            blobs: pending.blobs,
            bytes: pending.bytes,
            since: time::format(pending.since),
            due: time::format(pending.due),
            held_by_backup: pending.held,
        }
    }
}

/// A BLOB that is not as it must be.
#[derive(Serialize, ToSchema)]
pub struct FaultJson {
    /// Identity of its bytes: BLAKE3-256 in hexadecimal digits.
    pub digest: String,
    /// Name of the content database that needs it.
    pub database: String,
    /// Name of the store that should have it.
    pub store: String,
    /// `missing` or `damaged`.
    pub state: String,
    /// Where and what exactly.
    pub detail: String,
    /// When it was found first.
    pub found_at: String,
    /// When its loss was accepted; null while it was not.
    pub accepted_at: Option<String>,
    /// By whom.
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
    /// Site, library and path; null for what lies in a recycle bin, or what the caller may not see.
    pub path: Option<String>,
}

impl FaultJson {
    /// A fault with the name of who accepted it.
    pub fn new(fault: BlobFault, names: &Names) -> Self {
        let document = |FaultyDocument { id, name, path }| FaultyDocumentJson { id: id.to_string(), name, path };
        Self {
            digest: fault.digest.to_string(),
            database: fault.database,
            store: fault.store,
            state: fault.state,
            detail: fault.detail,
            found_at: time::format(fault.found_at),
            accepted_at: fault.accepted.map(|(at, _)| time::format(at)),
            accepted_by: fault.accepted.map(|(_, by)| names.person(by)),
            documents: fault.documents.into_iter().map(document).collect(),
        }
    }
}

/// Where a BLOB came back from.
#[derive(Serialize, ToSchema)]
pub struct Repaired {
    /// Name of the store that had it.
    pub from: String,
}
