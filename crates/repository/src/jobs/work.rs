//! What a job can be asked to do, and how far one is, with the text that both are stored as.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{Code, Error, Result};
use serde::{Deserialize, Serialize};

use crate::Storage;

/// Version of the stored JSON of work and figures.
const VERSION: u32 = 1;
/// Days that a BLOB is kept after the last document that had it is gone for good.
pub const DEFAULT_WINDOW_DAYS: u32 = 30;
/// Days that a BLOB which no database knows stays in quarantine.
pub const QUARANTINE_DAYS: u32 = 7;
/// Hours after which bytes that no document refers to are no upload under way any more.
const ORPHAN_HOURS: u32 = 24;
/// The same at the least: between the bytes and their document lies no more than this.
const ORPHAN_LEAST: Duration = Duration::from_secs(3600);
/// Percent of all BLOBs that one collection deletes without being told that this is meant.
const SHARE: u8 = 20;

/// What a job is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Move BLOBs from store to store.
    Migrate(MigrateWork),
    /// Remove BLOBs that nothing refers to.
    Collect(CollectWork),
    /// Re-read BLOBs and follow references.
    Check(CheckWork),
}

/// Which BLOBs to move where. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrateWork {
    /// Only references of this content database; of all when absent.
    pub database: Option<String>,
    /// Only what is in this store; in any other than the target when absent.
    pub from: Option<String>,
    /// The store that they move to; the active store of each content database when absent.
    pub to: Option<String>,
    /// Only what has at least so many bytes; when absent, what leaves a content database must have the minimum size of
    /// its policy.
    pub minimum_size: Option<u64>,
    /// Only what has at most so many bytes.
    pub maximum_size: Option<u64>,
    /// Only what was stored at least so many days ago.
    pub older_than_days: Option<u32>,
    /// Only what was not read for so many days.
    pub unread_days: Option<u32>,
    /// Only documents of this library or site collection, by identifier.
    pub library: Option<i64>,
    /// Bytes a second; as fast as it goes when absent.
    pub rate: Option<u64>,
    /// Stop after so many BLOBs.
    pub limit: Option<u64>,
    /// Nothing that is in one of these stores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_from: Vec<String>,
}

/// How to collect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectWork {
    /// Days that BLOBs are kept after the last document that had them is gone for good.
    pub window_days: u32,
    /// Hours after which what no database knows is put into quarantine; at least 1.
    pub orphan_hours: u32,
    /// Days that it stays there.
    pub quarantine_days: u32,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Percent of all BLOBs that may be deleted; more stops the collection before it deletes anything.
    pub share: u8,
    /// Seconds after which the job pauses; the next one goes on where it was.
    pub time_limit: Option<u64>,
    /// Bytes a second that may be deleted.
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

/// What to check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckWork {
    /// Only this store; all when absent.
    pub store: Option<String>,
    /// Bytes a second; as fast as it goes when absent.
    pub rate: Option<u64>,
}

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// What it does now, in words.
    pub phase: String,
    /// BLOBs that there are to do, as far as that is known.
    pub total_items: u64,
    /// Their bytes.
    pub total_bytes: u64,
    /// BLOBs that are done.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
    /// BLOBs that could not be done; each is listed with its error.
    pub failed: u64,
    /// Seconds that it worked, pauses not counted.
    pub seconds: u64,
    /// When everything that could not be done before began to be tried again, in microseconds since 1970-01-01 UTC; 0 when it never was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tried_again: i64,
    /// Results by name, such as `deleted_bytes`.
    pub results: BTreeMap<String, u64>,
    /// Where to go on.
    pub cursor: serde_json::Value,
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
    /// The word for the kind of work.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Migrate(_) => "migrate",
            Self::Collect(_) => "collect",
            Self::Check(_) => "check",
        }
    }

    /// The stored text.
    ///
    /// Errors: none that a caller can bring about.
    pub fn to_text(&self) -> Result<String> {
        to_text(self)
    }

    /// Reads the stored text.
    ///
    /// Errors: `Invalid` for what another version wrote.
    pub fn from_text(text: &str) -> Result<Self> {
        from_text(text)
    }

    /// Refuses what cannot be done.
    pub(super) fn check(&self, storage: &Storage) -> Result<()> {
        let rate = match self {
            Self::Migrate(work) => work.rate,
            Self::Collect(work) => work.rate,
            Self::Check(work) => work.rate,
        };
        if rate == Some(0) {
            return Err(Error::invalid(
                "a rate of 0 bytes a second never comes to an end: leave it out, or give at least 1",
            ));
        }
        match self {
            Self::Migrate(work) => work.check(storage),
            Self::Collect(work) => work.check(),
            Self::Check(work) => work.store.as_ref().map_or(Ok(()), |name| storage.store_named(name).map(drop)),
        }
    }
}

impl Figures {
    /// Bytes a second since its beginning, pauses not counted; none in the first second, and where it moves none.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.bytes.checked_div(self.seconds).filter(|rate| *rate > 0)
    }

    /// Seconds that are left at that rate; none where that is not known.
    pub fn seconds_left(&self) -> Option<u64> {
        let rate = self.bytes_per_second()?;
        (self.total_bytes > self.bytes).then(|| (self.total_bytes - self.bytes).div_ceil(rate))
    }

    /// The stored text.
    ///
    /// Errors: none that a caller can bring about.
    pub fn to_text(&self) -> Result<String> {
        to_text(self)
    }

    /// Reads the stored text; an empty one is that of a job that was not begun.
    ///
    /// Errors: `Invalid` for what another version wrote.
    pub fn from_text(text: &str) -> Result<Self> {
        if text.is_empty() { Ok(Self::default()) } else { from_text(text) }
    }
}

impl MigrateWork {
    /// Refuses names that there are not, and a target that takes nothing.
    fn check(&self, storage: &Storage) -> Result<()> {
        if let Some(name) = &self.database {
            storage.database(name)?;
        }
        let from = self.from.as_ref().map(|name| storage.store_named(name)).transpose()?;
        let to = self.to.as_ref().map(|name| storage.store_named(name)).transpose()?;
        if let Some(to) = to.filter(|to| to.state != "active") {
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
            return Err(Error::invalid(format!("\"{}\" is both where BLOBs come from and where they go to", to.name)));
        }
        Ok(())
    }
}

impl MigrateWork {
    /// Refuses sizes that no BLOB has.
    fn check_sizes(&self) -> Result<()> {
        match (self.minimum_size, self.maximum_size) {
            (Some(least), Some(most)) if least > most => Err(Error::invalid(format!(
                "no BLOB has at least {least} and at most {most} bytes: give a smaller minimum or a larger maximum size"
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
                "BLOBs that no document refers to are kept for at least an hour: their document may be on its way",
            ));
        }
        Ok(())
    }
}

fn to_text<T: Serialize>(content: &T) -> Result<String> {
    serde_json::to_string(&Envelope { version: VERSION, content })
        .map_err(|error| Error::invalid("a job cannot be written down").with_source(error))
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
        let text = r#"{"version":1,"kind":"migrate","database":"main","from":"database","to":"files","minimum_size":65536,"maximum_size":null,"older_than_days":30,"unread_days":null,"library":null,"rate":1000000,"limit":10}"#;
        let work = Work::from_text(text).unwrap();
        assert_eq!(work.to_text().unwrap(), text);
        let Work::Migrate(work) = work else { panic!("{work:?}") };
        assert_eq!((work.to.as_deref(), work.minimum_size, work.limit), (Some("files"), Some(65_536), Some(10)));
    }

    #[test]
    fn sizes_that_no_blob_has_are_refused() {
        let check = |minimum_size, maximum_size| {
            MigrateWork { minimum_size, maximum_size, ..MigrateWork::default() }.check_sizes()
        };
        assert!(check(Some(2), Some(1)).unwrap_err().message().contains("at least 2 and at most 1 bytes"));
        assert!(check(Some(2), Some(2)).is_ok() && check(Some(2), None).is_ok() && check(None, Some(1)).is_ok());
    }

    #[test]
    fn jobs_of_a_newer_version_are_refused() {
        let error = Work::from_text(r#"{"version":2,"kind":"migrate"}"#).unwrap_err();
        assert!(error.message().contains("newer version"), "{error}");
    }
}
