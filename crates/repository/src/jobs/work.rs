//! The task of a job and its progress, with their stored text form.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{Code, Error, JobKind, JobPhase, Result, StoreState};
use serde::{Deserialize, Serialize};

use crate::Storage;

/// Version of the stored JSON of work and progress.
const VERSION: u32 = 1;
/// Default garbage-collection window: days for which a BLOB is kept after the last document that referred to it was
/// permanently deleted.
pub const DEFAULT_WINDOW_DAYS: u32 = 30;
/// Default number of days for which a BLOB that no database refers to stays in quarantine.
pub const QUARANTINE_DAYS: u32 = 7;
/// Default age in hours from which a BLOB without a document no longer counts as part of a running upload.
const ORPHAN_HOURS: u32 = 24;
/// Minimum for that age. A document is stored at most this long after its bytes.
const ORPHAN_LEAST: Duration = Duration::from_secs(3600);
/// Default percentage of all BLOBs that one collection may delete.
const SHARE: u8 = 20;

/// Task of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Move BLOBs from store to store.
    Migrate(MigrateWork),
    /// Remove BLOBs that nothing refers to.
    Collect(CollectWork),
    /// Re-read BLOBs and follow references.
    Check(CheckWork),
    /// Build search indexes anew.
    Crawl(CrawlWork),
}

/// BLOBs to move, and their target. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrateWork {
    /// Only references of this content database; of all databases when absent.
    pub database: Option<String>,
    /// Only BLOBs in this store; in any store but the target when absent.
    pub from: Option<String>,
    /// The target store; the active store of each content database when absent.
    pub to: Option<String>,
    /// Only BLOBs of at least this size. When absent, the minimum size of the policy applies to BLOBs that leave a
    /// content database.
    pub minimum_size: Option<u64>,
    /// Only BLOBs of at most this size.
    pub maximum_size: Option<u64>,
    /// Only BLOBs that were stored at least this many days ago.
    pub older_than_days: Option<u32>,
    /// Only BLOBs that were not read for this many days.
    pub unread_days: Option<u32>,
    /// Only documents of this library or site collection (identifier).
    pub library: Option<i64>,
    /// Bytes per second; unlimited when absent.
    pub rate: Option<u64>,
    /// Stop after this many BLOBs.
    pub limit: Option<u64>,
    /// Excludes BLOBs in these stores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_from: Vec<String>,
}

/// Settings of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectWork {
    /// Days for which BLOBs are kept after the last document that referred to them was permanently deleted.
    pub window_days: u32,
    /// Age in hours from which BLOBs that no database refers to are put into quarantine; at least 1.
    pub orphan_hours: u32,
    /// Days for which they stay there.
    pub quarantine_days: u32,
    /// Only report what would be done.
    pub dry_run: bool,
    /// Percentage of all BLOBs that may be deleted. If more would be, the collection stops before it deletes anything.
    pub share: u8,
    /// Seconds after which the job pauses; the next one continues from there.
    pub time_limit: Option<u64>,
    /// Limit on deleted bytes per second.
    pub rate: Option<u64>,
}

impl Default for CollectWork {
    fn default() -> Self {
        Self {
            window_days: DEFAULT_WINDOW_DAYS,
            orphan_hours: ORPHAN_HOURS,
            quarantine_days: QUARANTINE_DAYS,
            dry_run: false,
            share: SHARE,
            time_limit: None,
            rate: None,
        }
    }
}

/// Scope of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckWork {
    /// Only this store; all stores when absent.
    pub store: Option<String>,
    /// Bytes per second; unlimited when absent.
    pub rate: Option<u64>,
}

/// Scope of a full crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlWork {
    /// Only the documents of this content database; of all databases when absent.
    pub database: Option<String>,
    /// Bytes of documents per second; unlimited when absent.
    pub rate: Option<u64>,
}

/// Name of the result that counts the databases that lack acknowledged changes. They also count as damaged.
pub const LACKING_CHANGES: &str = "databases_lacking_changes";

/// Progress of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
    /// Current phase, in words.
    pub phase: String,
    /// BLOBs to process, or documents in a crawl, as far as known.
    pub total_items: u64,
    /// Their size in bytes.
    pub total_bytes: u64,
    /// BLOBs or documents processed.
    pub items: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// BLOBs that failed; each is listed with its error.
    pub failed: u64,
    /// Seconds of work, without pauses.
    pub seconds: u64,
    /// Start of the latest retry of all failed items, in microseconds since 1970-01-01 UTC; 0 when there was none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tried_again: i64,
    /// Results by name, such as `deleted_bytes`.
    pub results: BTreeMap<String, u64>,
    /// Position from which to continue.
    pub cursor: serde_json::Value,
}

impl JobProgress {
    /// Begins a phase.
    pub fn begin(&mut self, phase: JobPhase) {
        phase.as_str().clone_into(&mut self.phase);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

impl Work {
    /// Returns the kind of work.
    pub const fn kind(&self) -> JobKind {
        match self {
            Self::Migrate(_) => JobKind::Migrate,
            Self::Collect(_) => JobKind::Collect,
            Self::Check(_) => JobKind::Check,
            Self::Crawl(_) => JobKind::Crawl,
        }
    }

    /// Returns the limit in bytes per second; `None` for unlimited.
    pub const fn rate(&self) -> Option<u64> {
        match self {
            Self::Migrate(work) => work.rate,
            Self::Collect(work) => work.rate,
            Self::Check(work) => work.rate,
            Self::Crawl(work) => work.rate,
        }
    }

    /// Returns the stored text.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn to_text(&self) -> Result<String> {
        to_text(self)
    }

    /// Parses the stored text.
    ///
    /// # Errors
    /// `Invalid` for text written by another version.
    pub fn from_text(text: &str) -> Result<Self> {
        from_text(text)
    }

    /// Refuses work that cannot be done.
    pub(super) fn check(&self, storage: &Storage) -> Result<()> {
        if self.rate() == Some(0) {
            return Err(Error::invalid(
                "at a rate of 0 bytes a second the job would never end: leave the rate out, or give at least 1",
            ));
        }
        match self {
            Self::Migrate(work) => work.check(storage),
            Self::Collect(work) => work.check(),
            Self::Check(work) => work.store.as_ref().map_or(Ok(()), |name| storage.store_named(name).map(drop)),
            Self::Crawl(work) => work.database.as_ref().map_or(Ok(()), |name| storage.database(name).map(drop)),
        }
    }
}

impl JobProgress {
    /// Returns the average bytes per second since the start, without pauses; `None` in the first second, and when no
    /// bytes were processed.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.bytes.checked_div(self.seconds).filter(|rate| *rate > 0)
    }

    /// Returns the estimated seconds left at that rate; `None` when unknown.
    pub fn seconds_left(&self) -> Option<u64> {
        let rate = self.bytes_per_second()?;
        (self.total_bytes > self.bytes).then(|| (self.total_bytes - self.bytes).div_ceil(rate))
    }

    /// Returns the stored text.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn to_text(&self) -> Result<String> {
        to_text(self)
    }

    /// Parses the stored text. Empty text belongs to a job that was not started.
    ///
    /// # Errors
    /// `Invalid` for text written by another version.
    pub fn from_text(text: &str) -> Result<Self> {
        if text.is_empty() { Ok(Self::default()) } else { from_text(text) }
    }
}

impl MigrateWork {
    /// Refuses unknown names, and a target that takes no new BLOBs.
    fn check(&self, storage: &Storage) -> Result<()> {
        if let Some(name) = &self.database {
            storage.database(name)?;
        }
        let from = self.from.as_ref().map(|name| storage.store_named(name)).transpose()?;
        let to = self.to.as_ref().map(|name| storage.store_named(name)).transpose()?;
        if let Some(to) = to.filter(|to| to.state != StoreState::Active) {
            return Err(Error::conflict(format!("the BLOB store \"{}\" is {}: activate it first", to.name, to.state))
                .with_code(Code::StoreNotActive));
        }
        for name in &self.not_from {
            storage.store_named(name)?;
        }
        self.check_sizes()?;
        if let (Some(from), Some(to)) = (from, to)
            && from.id == to.id
        {
            return Err(Error::invalid(format!("\"{}\" is both the source and the destination of the BLOBs", to.name)));
        }
        Ok(())
    }
}

impl MigrateWork {
    /// Refuses a minimum size that exceeds the maximum size.
    fn check_sizes(&self) -> Result<()> {
        match (self.minimum_size, self.maximum_size) {
            (Some(least), Some(most)) if least > most => Err(Error::invalid(format!(
                "no BLOB has at least {} and at most {} bytes: give a smaller minimum or a larger maximum size",
                model::grouped(least),
                model::grouped(most)
            ))),
            _ => Ok(()),
        }
    }
}

impl CollectWork {
    fn check(&self) -> Result<()> {
        if self.share > 100 {
            return Err(Error::invalid("the share of BLOBs that may be deleted is between 0 and 100 percent"));
        }
        if self.time_limit == Some(0) {
            return Err(Error::invalid(
                "a time limit of 0 seconds leaves no time for anything: leave it out, or give at least 1",
            ));
        }
        if Duration::from_secs(u64::from(self.orphan_hours) * 3600) < ORPHAN_LEAST {
            return Err(Error::invalid(
                "BLOBs that no document refers to are kept for at least an hour: their document may still be on its \
                 way",
            ));
        }
        Ok(())
    }
}

fn to_text<T: Serialize>(content: &T) -> Result<String> {
    serde_json::to_string(&Envelope { version: VERSION, content })
        .map_err(|error| Error::invalid("a job cannot be stored").with_source(error))
}

fn from_text<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
    let newer = |error| {
        Error::invalid("a job was written by another version of Strongroom, and this one cannot read it")
            .with_source(error)
    };
    let version: Envelope<serde_json::Value> = serde_json::from_str(text).map_err(newer)?;
    if version.version != VERSION {
        return Err(Error::invalid(format!(
            "a job was written by a newer version of Strongroom (format {}): run that version",
            version.version
        )));
    }
    serde_json::from_value(version.content).map_err(newer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_jobs_of_the_first_version_are_read() {
        let text = concat!(
            r#"{"version":1,"kind":"migrate","database":"main","from":"database","to":"files","minimum_size":65536,"#,
            r#""maximum_size":null,"older_than_days":30,"unread_days":null,"library":null,"rate":1000000,"limit":10}"#
        );
        let work = Work::from_text(text).unwrap();
        assert_eq!(work.to_text().unwrap(), text);
        assert_eq!(work.kind(), JobKind::Migrate);
        let Work::Migrate(work) = work else { panic!("{work:?}") };
        assert_eq!((work.to.as_deref(), work.minimum_size, work.limit), (Some("files"), Some(65_536), Some(10)));
    }

    #[test]
    fn sizes_that_no_blob_has_are_refused() {
        let check = |minimum_size, maximum_size| {
            MigrateWork { minimum_size, maximum_size, ..MigrateWork::default() }.check_sizes()
        };
        assert!(check(Some(2), Some(1)).unwrap_err().message().contains("at least 2 and at most 1 bytes"));
        assert!(check(Some(2), Some(2)).is_ok());
        assert!(check(Some(2), None).is_ok());
        assert!(check(None, Some(1)).is_ok());
    }

    #[test]
    fn jobs_of_a_newer_version_are_refused() {
        let error = Work::from_text(r#"{"version":2,"kind":"migrate"}"#).unwrap_err();
        assert!(error.message().contains("newer version"), "{error}");
    }
}
