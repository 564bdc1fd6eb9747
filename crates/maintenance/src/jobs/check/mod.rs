//! The check job: re-reads BLOBs at a chosen rate and follows references. A missing or damaged BLOB stays on record
//! until it is intact again, restored, or its loss is accepted.
//!
//! The check goes through each store in the order of digests, so that it can be resumed. It uses the same census as
//! garbage collection. A store that does not respond is named and left out, and the check ends as incomplete: a missing
//! response never counts as a missing BLOB.

mod following;
mod reading;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blobs::{BlobStore, CheckOutcome, Usage};
use database::CheckExtent;
use database::content::fault;
use model::{Code, Error, ErrorKind, FaultState, Id, JobPhase, Result, counted};
use repository::{CheckWork, DATABASE_STORE, JobProgress, LACKING_CHANGES, Storage, StorageDatabase};
use serde::{Deserialize, Serialize};

use super::running_job::{JobResult, RunningJob};
use super::throttle::Throttle;

/// Number of BLOBs per page of a store listing, and of references per page of a database.
const PAGE: usize = 500;
/// Number of BLOBs that are read or confirmed concurrently, because a distant store has a high latency per BLOB.
const AT_ONCE: usize = 8;
/// Number of consecutive errors after which a store counts as unresponsive.
const ERRORS: u32 = 3;

/// Position from which a check resumes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Cursor {
    /// Set when all stores have been re-read and references are being followed.
    references: bool,
    /// Store or database in progress.
    place: i64,
    /// Last BLOB that was re-read in the store.
    digest: String,
    /// Last reference that was followed in the database.
    after: i64,
    /// Stores that did not respond.
    silent: Vec<i64>,
    /// Databases that were verified, the configuration database as 0.
    looked: Vec<i64>,
    /// Set when the check has ended.
    ended: bool,
}

/// A store, together with the databases that refer to it.
struct CheckedStore {
    id: Id,
    /// Identifier of the store within a cursor. It differs from `id` for the store inside a database, because all
    /// databases use the same store identifier for it.
    key: i64,
    name: String,
    /// None when the farm could not open the store.
    store: Option<BlobStore>,
    databases: Vec<StorageDatabase>,
}

/// A running check.
struct Check<'a> {
    job: &'a RunningJob,
    storage: Storage,
    looked: Vec<i64>,
    /// Set when all stores are checked.
    all: bool,
    /// Set when a content database is unavailable, so that BLOBs without a known reference may still be needed.
    is_incomplete: bool,
    answers: Mutex<Answers>,
}

/// Responsiveness of the stores.
#[derive(Default)]
struct Answers {
    /// Consecutive errors, by the key of the store.
    errors: HashMap<i64, u32>,
    /// Keys of the stores that are left out.
    silent: Vec<i64>,
}

pub(super) async fn run(job: &RunningJob, work: &CheckWork) -> JobResult<String> {
    let storage = job.storage().refreshed().await?;
    let mut cursor: Cursor = serde_json::from_value(job.progress().cursor).unwrap_or_default();
    if cursor.ended {
        // A check resumed after its end starts from the beginning.
        job.forget_failures();
        job.update_progress(|progress| *progress = JobProgress { seconds: progress.seconds, ..JobProgress::default() });
        cursor = Cursor::default();
    }
    let databases = verified_databases(job, &storage, &mut cursor).await?;
    for database in &databases {
        database.database.write_vital(fault::forget_unneeded).await?;
    }
    let places = places(&storage, &databases, work);
    let mut throttle = Throttle::new(work.rate);
    let answers = Answers { silent: cursor.silent.clone(), ..Answers::default() };
    let all = work.store.is_none();
    let is_blind = !storage.absent().is_empty() || databases.len() < storage.databases()?.len();
    let check = Check {
        job,
        storage,
        looked: cursor.looked.clone(),
        all,
        is_incomplete: is_blind,
        answers: Mutex::new(answers),
    };
    check.measure(&places).await;
    if !cursor.references {
        check.reread_all(&places, &mut throttle, &cursor).await?;
    }
    job.update_progress(|progress| progress.begin(JobPhase::FollowingReferences));
    let mut is_before = cursor.references && cursor.place != 0;
    for database in &databases {
        if is_before && database.id.get() != cursor.place {
            continue;
        }
        let after = if is_before { Id::new(cursor.after) } else { Id::NONE };
        is_before = false;
        check.follow(&places, &mut throttle, database, after).await?;
    }
    check.sum_up(&places, &databases).await.map_err(Into::into)
}

/// Returns the content databases that are available and undamaged as far as their engine can tell. The others are
/// reported as failures. A database that was verified before the job was interrupted is not verified again.
async fn verified_databases(
    job: &RunningJob,
    storage: &Storage,
    cursor: &mut Cursor,
) -> JobResult<Vec<StorageDatabase>> {
    job.update_progress(|progress| {
        progress.begin(JobPhase::ReadingDatabases);
        progress.results.remove("databases_away");
        progress.results.remove("databases_damaged");
        progress.results.remove("databases_by_server");
        progress.results.remove(LACKING_CHANGES);
    });
    let leave_out = |name: &str, error: &Error, is_damaged: bool| {
        job.fail(format!("database {name}"), error);
        job.count(if is_damaged { "databases_damaged" } else { "databases_away" }, 1);
        if error.code() == Code::ChangesLost {
            job.count(LACKING_CHANGES, 1);
        }
    };
    for absent in storage.absent() {
        let error = Error::unavailable(format!("it is not open: {}", absent.message())).with_code(absent.code());
        leave_out(absent.name(), &error, absent.is_damaged());
    }
    let mut whole = Vec::new();
    let content = storage.databases()?.into_iter().map(Some);
    for database in std::iter::once(None).chain(content) {
        job.check_stop()?;
        let (id, name, looked) = match &database {
            None => (0, "configuration", storage.configuration()),
            Some(content) => (content.id.get(), content.name.as_str(), &content.database),
        };
        if looked.damage().is_some() || !cursor.looked.contains(&id) {
            match looked.check_integrity(None).await {
                Err(error) if is_of_one_database(&error) => {
                    leave_out(name, &error, true);
                    continue;
                }
                looked => {
                    if let CheckExtent::ByServer = looked? {
                        job.count("databases_by_server", 1);
                    }
                }
            }
            cursor.looked.push(id);
            let noted = cursor.clone();
            job.update_progress(|progress| progress.cursor = serde_json::to_value(noted).unwrap_or_default());
        }
        whole.extend(database);
    }
    Ok(whole)
}

/// Returns whether an error concerns one database only, so that the others can still be checked.
fn is_of_one_database(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt || matches!(error.code(), Code::DatabaseUnreadable | Code::DiskError)
}

fn places(storage: &Storage, databases: &[StorageDatabase], work: &CheckWork) -> Vec<CheckedStore> {
    let mut places = Vec::new();
    for (row, store) in storage.stores() {
        if work.store.as_ref().is_some_and(|name| *name != row.name) {
            continue;
        }
        let place = |key: i64, store: Option<BlobStore>, databases: &[StorageDatabase]| CheckedStore {
            id: row.id,
            key,
            name: row.name.clone(),
            store,
            databases: databases.to_vec(),
        };
        match row.id {
            DATABASE_STORE => places.extend(databases.iter().map(|database| {
                place(database.id.get(), Some(database.own_store.clone()), std::slice::from_ref(database))
            })),
            id => places.push(place(id.get(), store.clone(), databases)),
        }
    }
    places
}

impl Check<'_> {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the farm knew a store when the check began.
    fn is_known(&self, store: Id) -> bool {
        self.storage.stores().iter().any(|(row, _)| row.id == store)
    }

    /// Returns the store, unless it is left out of the check.
    fn responsive<'a>(&self, place: &'a CheckedStore) -> Option<&'a BlobStore> {
        place.store.as_ref().filter(|_| !self.answers().silent.contains(&place.key))
    }

    /// Leaves a store out of the rest of the check.
    fn leave_out(&self, place: &CheckedStore, error: &Error) {
        let mut answers = self.answers();
        if !answers.silent.contains(&place.key) {
            answers.silent.push(place.key);
            tracing::warn!(store = place.name, error = error.report(), "a check skips a BLOB store");
            self.job.fail(format!("store {}", place.name), error);
        }
    }

    /// Converts a store's definite result for one BLOB into a state and details, or none for an intact BLOB. After
    /// several consecutive indefinite errors the store is left out.
    fn classify(&self, place: &CheckedStore, said: Result<CheckOutcome>) -> Result<Fault> {
        let judged = match said {
            Ok(CheckOutcome::Intact) => Ok(None),
            Ok(CheckOutcome::Missing { place }) => Ok(Some((FaultState::Missing, place))),
            Ok(CheckOutcome::Damaged { place, what }) if place.is_empty() => Ok(Some((FaultState::Damaged, what))),
            Ok(CheckOutcome::Damaged { place, what }) => Ok(Some((FaultState::Damaged, format!("{place}: {what}")))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Some((FaultState::Missing, error.message().to_owned())))
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Ok(Some((FaultState::Damaged, error.message().to_owned())))
            }
            Err(error) => Err(error),
        };
        let errors = {
            let mut answers = self.answers();
            let errors = answers.errors.entry(place.key).or_default();
            *errors = if judged.is_ok() { 0 } else { *errors + 1 };
            *errors
        };
        if let (Err(error), ERRORS..) = (&judged, errors) {
            self.leave_out(place, error);
        }
        judged
    }

    /// Adds to a result. A result of 0 is not created, because it would not be worth reporting.
    fn count(&self, name: &str, amount: u64) {
        if amount > 0 {
            self.job.count(name, amount);
        }
    }

    /// Records the position from which to resume. It is called together with the counts up to that position, so that
    /// both are saved at the same time.
    fn go_on_at(&self, cursor: Cursor) {
        let cursor = Cursor { silent: self.answers().silent.clone(), looked: self.looked.clone(), ..cursor };
        self.job.update_progress(|progress| progress.cursor = serde_json::to_value(cursor).unwrap_or_default());
    }

    /// Counts the BLOBs to be read, and finds out which stores respond.
    async fn measure(&self, places: &[CheckedStore]) {
        self.job.update_progress(|progress| progress.begin(JobPhase::Counting));
        let mut total = Usage::default();
        for place in places {
            let usage = match &place.store {
                Some(store) => store.usage().await,
                None => Err(Error::unavailable(format!(
                    "it does not answer, or is not attached: `strongroom blobs stores test {}` shows why",
                    place.name
                ))),
            };
            match usage {
                Ok(usage) => {
                    total.blobs += usage.blobs;
                    total.content_bytes += usage.content_bytes;
                }
                Err(error) => self.leave_out(place, &error),
            }
        }
        self.job.update_progress(|progress| {
            progress.begin(JobPhase::RereadingBlobs);
            (progress.total_items, progress.total_bytes) = (total.blobs, total.content_bytes);
        });
    }

    /// Ends the check: reports the faults now on record, and the stores and databases that could not be checked.
    async fn sum_up(&self, places: &[CheckedStore], databases: &[StorageDatabase]) -> Result<String> {
        let (mut open, mut accepted) = (0, 0);
        for database in databases {
            for (store, all, lost) in database.database.read(fault::by_store).await? {
                if places.iter().any(|place| place.id == store) || self.all && !self.is_known(store) {
                    open += (all - lost).max(0) as u64;
                    accepted += lost.max(0) as u64;
                }
            }
        }
        self.job.update_progress(|progress| {
            progress.phase = String::new();
            progress.cursor = serde_json::to_value(Cursor { ended: true, ..Cursor::default() }).unwrap_or_default();
            progress.results.insert("faults".to_owned(), open);
            if accepted > 0 {
                progress.results.insert("accepted_losses".to_owned(), accepted);
            }
        });
        let silent = self.answers().silent.clone();
        let names: Vec<&str> =
            places.iter().filter(|place| silent.contains(&place.key)).map(|place| place.name.as_str()).collect();
        let mut text = words(&self.job.progress(), &names);
        let progress = self.job.progress();
        let of = |name: &str| progress.results.get(name).copied().unwrap_or(0);
        let (away, damaged) = (of("databases_away"), of("databases_damaged"));
        if away + damaged > 0 {
            let why = match (away, damaged) {
                (_, 0) => "away".to_owned(),
                (0, _) => "damaged or incomplete, or unreadable on its disk".to_owned(),
                _ => format!("{away} unavailable, {damaged} damaged"),
            };
            text = format!("{} could not be checked: {why}; {text}", counted(away + damaged, "database"));
            if damaged > 0 {
                text.push_str("; `strongroom blobs health` explains how to repair the database");
            }
        }
        let by_server = self.job.progress().results.get("databases_by_server").copied().unwrap_or(0);
        if by_server > 0 {
            let databases = counted(by_server, "PostgreSQL database");
            text.push_str(&format!("; {databases} not verified: use `pg_amcheck` for that"));
        }
        Ok(text)
    }
}

/// State and details of a fault. None for an intact BLOB.
type Fault = Option<(FaultState, String)>;

/// Result of a check in words.
fn words(progress: &JobProgress, silent: &[&str]) -> String {
    let of = |name: &str| progress.results.get(name).copied().unwrap_or(0);
    let (items, references) = (counted(progress.items, "BLOB"), counted(of("references"), "reference"));
    let mut text = format!("{items} re-read, {references} followed: ");
    text.push_str(&match (of("faults"), progress.failed) {
        (0, 0) => "all are there and undamaged".to_owned(),
        (0, _) => "nothing was found missing or damaged in what could be checked".to_owned(),
        (1, _) => "1 is missing or damaged".to_owned(),
        (count, _) => format!("{count} are missing or damaged"),
    });
    match of("accepted_losses") {
        0 => {}
        1 => text.push_str(", apart from 1 whose loss was accepted"),
        count => text.push_str(&format!(", apart from {count} whose loss was accepted")),
    }
    match of("garbled_places") {
        0 => {}
        count => text
            .push_str(&format!("; garbled bytes outside of BLOBs in {}, which the log names", counted(count, "place"))),
    }
    if progress.failed == 0 || (of("unchecked") == 0 && silent.is_empty()) {
        return text;
    }
    let mut left_out = format!("{} could not be checked", counted(of("unchecked"), "reference"));
    if !silent.is_empty() {
        let (stores, give) = if silent.len() == 1 { ("store", "gives") } else { ("stores", "give") };
        let names: Vec<String> = silent.iter().map(|name| format!("\"{name}\"")).collect();
        left_out.push_str(&format!(", because the {stores} {} {give} no answer", names.join(" and ")));
    }
    format!("{left_out}; {text}")
}
