//! Scheduled work of a farm: a garbage collection each day, a check of all BLOBs each month at a low rate, and the
//! moves that storage policies require as BLOBs age.
//!
//! The time of the last start is stored in the configuration database, so that only one of several servers starts the
//! work.

use std::time::Duration;

use database::Transaction;
use database::configuration::farm;
use futures_util::future::BoxFuture;
use model::{Code, PolicyLevel, Result, TierBasis, Timestamp};
use repository::{
    CheckWork, CollectWork, CrawlWork, HEALTH_RULES, MigrateWork, Repository, Session, Storage, StoragePolicy, Work,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::jobs::resume_deletions;

/// Polling interval for due work.
const POLL: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum interval between evaluations of the health rules.
const HEALTH: Duration = Duration::from_secs(10 * 60);
/// Polling interval for databases that become unavailable or damaged, which is reported at once.
const AVAILABILITY_POLL: Duration = Duration::from_secs(2);
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Read rate of the monthly check in bytes per second.
const SCRUB_RATE: u64 = 20 << 20;
/// Time limit of a daily collection in seconds. The next one continues the rest.
const COLLECT_LIMIT: u64 = 4 * 60 * 60;

/// Time limit for verifying each database at the start of a server, and each day.
const FIRST_LOOK: Duration = Duration::from_secs(60);
const DAILY_LOOK: Duration = Duration::from_secs(60 * 60);

/// Verifies all databases until dropped: briefly at the start, and each day. Damage is remembered, and reported by the
/// health rules and `/readyz`.
pub fn verify_databases_daily(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut at_most = FIRST_LOOK;
        loop {
            if let Err(error) = verify_all(&repository, at_most).await {
                tracing::warn!(error = error.report(), "the databases could not be verified");
            }
            at_most = DAILY_LOOK;
            tokio::time::sleep(DAY).await;
        }
    })
}

/// Verifies each database, for at most the given time.
///
/// # Errors
/// Those of listing the databases. Errors of a single database are logged and remembered.
async fn verify_all(repository: &Repository, at_most: Duration) -> Result<()> {
    let storage = repository.as_caller(repository.farm_administrator().await?).storage().await?;
    let mut databases = vec![("configuration".to_owned(), storage.configuration().clone())];
    databases.extend(storage.databases()?.into_iter().map(|content| (content.name, content.database)));
    for (database, handle) in databases {
        match handle.check_integrity(Some(at_most)).await {
            Ok(looked) => tracing::debug!(database, ?looked, "verified a database"),
            Err(error) => tracing::error!(database, error = error.report(), "a database is damaged or cannot be read"),
        }
    }
    Ok(())
}

/// Starts due work, and reports the health rules as metrics, until dropped. A failed start is logged and retried when
/// the work is due again.
pub fn run_schedule(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let begin = async {
            let mut tick = interval(POLL);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tick.tick().await;
                if let Err(error) = begin_due(&repository).await {
                    tracing::warn!(error = error.report(), "scheduled work could not be started");
                }
            }
        };
        tokio::join!(begin, keep_reporting(&repository));
    })
}

/// Publishes the findings of the health rules as metrics at intervals, and as soon as another database becomes
/// unavailable or damaged.
async fn keep_reporting(repository: &Repository) {
    let (mut reported, mut known) = (None::<Instant>, Vec::new());
    let mut tick = interval(AVAILABILITY_POLL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Ok(away) = repository.databases_away().await else { continue };
        if away != known || reported.is_none_or(|at| at.elapsed() >= HEALTH) {
            (reported, known) = (Some(Instant::now()), away);
            if let Err(error) = report_health(repository).await {
                tracing::warn!(error = error.report(), "the health rules could not be evaluated");
            }
        }
    }
}

async fn begin_due(repository: &Repository) -> Result<()> {
    let session = repository.as_caller(repository.farm_administrator().await?);
    let storage = session.storage().await?;
    // A failure of one of these steps does not prevent the others.
    if let Err(error) = storage.write_accesses().await {
        tracing::warn!(error = error.report(), "the times of access to BLOBs cannot be recorded");
    }
    if let Err(error) = storage.reopen_kept_stores().await {
        tracing::warn!(error = error.report(), "the stores that databases have closed cannot be reopened");
    }
    match resume_deletions(&storage).await {
        // The health rules report an unavailable database.
        Err(error) if error.code() != Code::DatabaseAway => {
            tracing::warn!(error = error.report(), "interrupted deletions cannot be resumed");
        }
        _ => {}
    }
    if claim_due(&storage, "schedule.collect", DAY).await? {
        let collect = CollectWork { time_limit: Some(COLLECT_LIMIT), ..CollectWork::default() };
        session.start_job(Work::Collect(collect)).await?;
    }
    if claim_due(&storage, "schedule.tiers", DAY).await? {
        for policy in session.storage_policies().await? {
            begin_tiers(&session, &policy).await?;
        }
    }
    if let Some(days) = storage.search_settings().await?.full_crawl_days
        && session.full_crawls().await?.iter().all(|crawl| crawl.status.has_ended())
        && claim_due(&storage, "schedule.crawl", DAY * days).await?
    {
        session.start_job(Work::Crawl(CrawlWork::default())).await?;
    }
    if claim_due(&storage, "schedule.check", MONTH).await? {
        session.start_job(Work::Check(CheckWork { store: None, rate: Some(SCRUB_RATE) })).await?;
    }
    Ok(())
}

/// Evaluates the health rules and publishes their findings as metrics.
async fn report_health(repository: &Repository) -> Result<()> {
    let findings = repository.as_caller(repository.farm_administrator().await?).health().await?;
    for rule in HEALTH_RULES {
        let count = findings.iter().filter(|finding| finding.rule == rule).count();
        metrics::gauge!("strongroom_health_findings", "rule" => rule).set(count as f64);
    }
    Ok(())
}

/// Returns whether the interval has passed since the last start, and records a start now if so. On a new farm the first
/// start is due after one interval.
async fn claim_due(storage: &Storage, name: &'static str, every: Duration) -> Result<bool> {
    let known = storage.configuration().read(move |reader| farm::setting(reader, name)).await?;
    let last = |text: Option<String>| text.and_then(|text| text.parse().ok()).map(Timestamp::from_micros);
    // A last start in the future was recorded by a clock that was ahead, and is ignored.
    let is_early = move |last: Timestamp, now: Timestamp| last > now.before(every) && last <= now.after(POLL);
    if last(known).is_some_and(|last| is_early(last, Timestamp::now())) {
        return Ok(false);
    }
    let claim = move |transaction: &mut Transaction<'_>| {
        let last = last(farm::setting(transaction, name)?);
        let now = Timestamp::now();
        if last.is_some_and(|last| is_early(last, now)) {
            return Ok(false);
        }
        farm::put_setting(transaction, name, &now.micros().to_string())?;
        Ok(last.is_some())
    };
    storage.configuration().write_vital(claim).await
}

/// Starts the moves of one policy. BLOBs move from tier to tier as they age, and no tier takes back BLOBs that a later
/// tier has received. A tier of a wider policy also moves BLOBs that a narrower policy covers.
async fn begin_tiers(session: &Session, policy: &StoragePolicy) -> Result<()> {
    let library = (policy.level != PolicyLevel::Database).then_some(policy.target.get());
    for (at, tier) in policy.tiers.iter().enumerate() {
        let days = Some(tier.days);
        let later = policy.tiers[at + 1..].iter().map(|later| later.store.clone());
        let work = MigrateWork {
            database: Some(policy.database.clone()),
            to: Some(tier.store.clone()),
            older_than_days: days.filter(|_| tier.basis == TierBasis::Age),
            unread_days: days.filter(|_| tier.basis == TierBasis::Access),
            library,
            not_from: later.filter(|store| *store != tier.store).collect(),
            ..MigrateWork::default()
        };
        if let Err(error) = session.start_job(Work::Migrate(work)).await {
            tracing::warn!(error = error.report(), policy = policy.name, "the move of aged BLOBs could not be started");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use repository::{
        Destination, JobRequest, NamedTier, Options, PolicyChange, PolicyTarget, SearchSettings, Target, UploadOptions,
        VersionChoice,
    };

    use super::*;

    async fn opened(place: &std::path::Path) -> (Repository, Session) {
        let options = Options {
            directory: place.to_path_buf(),
            configuration: None,
            content: None,
            administrator_password: Some("correct horse battery".to_owned()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        let session = repository.as_caller(repository.farm_administrator().await.unwrap());
        (repository, session)
    }

    #[tokio::test]
    async fn what_was_read_that_cannot_be_noted_keeps_nothing_else_from_its_time() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = opened(place.path()).await;
        let path = || model::NodePath::parse("Documents/a.txt").unwrap();
        let tier = NamedTier { basis: TierBasis::Access, days: 90, store: "files".to_owned() };
        let change = PolicyChange { tiers: Some(vec![tier]), ..PolicyChange::default() };
        session.set_storage_policy(&PolicyTarget::Database("main".to_owned()), change).await.unwrap();
        let content = bytes::Bytes::from_static(b"read");
        session.upload_bytes(&Destination::Path(path()), UploadOptions::default(), content).await.unwrap();
        let read = async || session.open(&Target::Path(path()), VersionChoice::Visible).await.map(drop).unwrap();
        read().await;
        let file = place.path().join("databases/main.sqlite");
        let raw = database::testing::open_file(&file);
        raw.execute_batch("CREATE TRIGGER stuck BEFORE UPDATE ON blob BEGIN SELECT RAISE(ABORT, 'stuck'); END")
            .unwrap();
        let storage = session.storage().await.unwrap();
        storage.write_accesses().await.unwrap_err();
        read().await;
        begin_due(&repository).await.unwrap();
        let begun = storage.configuration().read(|reader| farm::setting(reader, "schedule.check")).await.unwrap();
        assert!(begun.is_some(), "what comes last was looked at");
        repository.close().await;
    }

    #[tokio::test]
    async fn a_task_is_due_once_in_its_time_and_not_at_once_on_a_new_farm() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = opened(place.path()).await;
        let storage = session.storage().await.unwrap();
        assert!(!claim_due(&storage, "schedule.x", DAY).await.unwrap(), "a new farm has nothing to collect");
        assert!(!claim_due(&storage, "schedule.x", DAY).await.unwrap());
        let yesterday = Timestamp::now().before(DAY).micros().to_string();
        let past = move |transaction: &mut Transaction<'_>| farm::put_setting(transaction, "schedule.x", &yesterday);
        storage.configuration().write(past).await.unwrap();
        assert!(claim_due(&storage, "schedule.x", DAY).await.unwrap());
        assert!(!claim_due(&storage, "schedule.x", DAY).await.unwrap());
        let next_year = Timestamp::now().after(365 * DAY).micros().to_string();
        let ahead = move |transaction: &mut Transaction<'_>| farm::put_setting(transaction, "schedule.x", &next_year);
        storage.configuration().write(ahead).await.unwrap();
        assert!(
            claim_due(&storage, "schedule.x", DAY).await.unwrap(),
            "a clock that was ahead stops nothing for a year"
        );
        assert!(!claim_due(&storage, "schedule.x", DAY).await.unwrap());

        let due = Timestamp::now().before(365 * DAY).micros().to_string();
        let put = move |transaction: &mut Transaction<'_>| farm::put_setting(transaction, "schedule.crawl", &due);
        storage.configuration().write(put).await.unwrap();
        begin_due(&repository).await.unwrap();
        assert!(session.full_crawls().await.unwrap().is_empty(), "no full crawl is scheduled");
        session
            .set_search_settings(SearchSettings { full_crawl_days: Some(1), ..SearchSettings::default() })
            .await
            .unwrap();
        session.start_job(Work::Crawl(CrawlWork::default())).await.unwrap();
        begin_due(&repository).await.unwrap();
        let crawls = session.full_crawls().await.unwrap();
        assert_eq!(crawls.len(), 1, "none starts while another waits");
        session.ask_job(crawls[0].id, JobRequest::Abort).await.unwrap();
        begin_due(&repository).await.unwrap();
        assert_eq!(session.full_crawls().await.unwrap().len(), 2);

        let tier = NamedTier { basis: TierBasis::Access, days: 90, store: "files".to_owned() };
        let change = PolicyChange { tiers: Some(vec![tier]), ..PolicyChange::default() };
        let library = PolicyTarget::Library(Target::Path(model::NodePath::parse("Documents").unwrap()));
        let policy = session.set_storage_policy(&library, change).await.unwrap();
        begin_tiers(&session, &policy).await.unwrap();
        let jobs = session.jobs(None, 10).await.unwrap();
        let Work::Migrate(work) = &jobs[0].work else { panic!("{jobs:?}") };
        assert_eq!((work.unread_days, work.older_than_days), (Some(90), None));
        assert_eq!((work.to.as_deref(), work.library), (Some("files"), Some(policy.target.get())));
        repository.close().await;
    }
}
