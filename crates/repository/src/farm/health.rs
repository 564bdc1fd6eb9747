//! Health rules: conditions that an administrator should deal with before they do harm, each with advice.

use std::fmt;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::configuration::{backup, farm, job};
use database::content::{deletion_queue, fault};
use futures_util::future::join_all;
use model::{Code, ErrorKind, Id, JobKind, JobState, ReclaimReason, Result, StoreKind, Timestamp, counted, unsigned};

use crate::farm::health_limits::{BACKUP_HOURS, DATABASE_BYTES, FREE_PERCENT, ORPHANS, STORE_FREE_PERCENT};
use crate::farm::registry::ContentDatabase;
use crate::storage::usage_cache::Reading;
use crate::{JobProgress, MissingRestriction, Session};

const GIB: u64 = 1 << 30;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Tolerated difference between the clocks of two servers of a farm.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60 * 60);

/// Empty space below which no finding is reported, in bytes.
const SMALL: u64 = 64 << 20;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Needs attention.
    Warning,
    /// Documents are at risk, or cannot be read or stored.
    Critical,
}

impl Severity {
    /// Public name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// Name of a message and its parameters, for translation.
pub(crate) type MessageKey = (&'static str, Vec<String>);

macro_rules! told {
    ($name:literal $(, $value:expr)*) => {
        ($name, vec![$($value.to_string()),*])
    };
}

/// A finding of a health rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthFinding {
    /// The rule, one of [`HEALTH_RULES`].
    pub rule: &'static str,
    /// Severity of the finding.
    pub severity: Severity,
    /// Subject.
    pub subject: HealthSubject,
    /// The finding, with advice.
    pub message: String,
    /// Name of this message and its parameters, for clients that show it in another language.
    pub message_key: (&'static str, Vec<String>),
}

/// Subject of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthSubject {
    /// The farm.
    Farm,
    /// The content database with this name.
    Database(String),
    /// The BLOB store with this name.
    Store(String),
    /// The job with this kind and identifier.
    Job(String, Id),
}

impl fmt::Display for HealthSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Farm => f.write_str("farm"),
            Self::Database(name) => write!(f, "content database {name}"),
            Self::Store(name) => write!(f, "BLOB store {name}"),
            Self::Job(kind, id) => write!(f, "job {kind} {id}"),
        }
    }
}

/// Names of all rules, as metrics and programs use them.
pub const HEALTH_RULES: [&str; 18] = [
    "addresses-shared",
    "backup-overdue",
    "blobs-damaged",
    "clock-ahead",
    "database-away",
    "database-damaged",
    "database-fragmented",
    "database-large",
    "database-without-checksums",
    "job-failed",
    "orphans",
    "retention-mismatch",
    "sandbox-open",
    "search-repaired",
    "search-server",
    "store-away",
    "store-full",
    "store-taken-over",
];

impl Session {
    /// Returns the findings of all health rules, worst first. Measures every store, which may take seconds.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn health(&self) -> Result<Vec<HealthFinding>> {
        self.require_farm_administrator("see the farm's health")?;
        let mut findings = Vec::new();
        self.look_at_databases(&mut findings).await?;
        self.look_at_stores(&mut findings).await?;
        self.look_at_backups(&mut findings).await?;
        self.look_at_jobs(&mut findings).await?;
        self.look_at_addresses(&mut findings).await?;
        self.look_at_clock(&mut findings).await?;
        self.look_at_sandbox(&mut findings).await;
        findings.extend(self.search_findings().await);
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.rule.cmp(b.rule)));
        Ok(findings)
    }

    async fn look_at_databases(&self, findings: &mut Vec<HealthFinding>) -> Result<()> {
        let (largest, free_percent) =
            (self.health_limit(&DATABASE_BYTES).await?, self.health_limit(&FREE_PERCENT).await?);
        let most_orphans = self.health_limit(&ORPHANS).await?;
        let registry = self.registry().await?;
        for absent in &registry.absent {
            let message = format!(
                "It is not open: {}. Its sites cannot be used, and nothing is collected or backed up until it is \
                 available again. Mount its disk, start its server, or restore it with `strongroom restore BACKUP \
                 --content-database {}`.",
                absent.message(),
                absent.name()
            );
            let subject = HealthSubject::Database(absent.name().to_owned());
            let told = told!("database-away", absent.message(), absent.name());
            findings.push(critical("database-away", &subject, message, told));
        }
        let limits = [largest, free_percent, most_orphans];
        for content in &registry.databases {
            let looked = async {
                look_at_database(content, limits, findings).await?;
                self.check_unknown_stores(content, findings).await
            };
            let looked = looked.await;
            let subject = HealthSubject::Database(content.row.name.clone());
            let name = &content.row.name;
            let damage = content.database.damage();
            if damage.is_none() && content.database.is_disk_failing() {
                let message =
                    "Its disk reported an error within the last minute. Check the disk and the log of the server.";
                findings.push(critical("database-damaged", &subject, message.to_owned(), told!("database-disk")));
                continue;
            }
            if let Some(told) = damage.filter(|damage| damage.of_disk).map(|damage| damage.report.clone()) {
                let message = format!(
                    "A part of it cannot be read from its disk: {told}. Data that it reports as missing may still \
                     exist, and nothing is collected or backed up. Check the disk before you restore anything."
                );
                let saying = told!("database-unreadable", told);
                findings.push(critical("database-damaged", &subject, message, saying));
                continue;
            }
            let told = match (&looked, damage) {
                (_, Some(damage)) => damage.report.clone(),
                (Err(error), None) => error.report(),
                (Ok(()), None) => continue,
            };
            let message = format!(
                "It does not work correctly: {told}. Data that it reports as missing may still exist. Restore it with \
                 `strongroom restore BACKUP --content-database {name}`, or repair its disk or server."
            );
            findings.push(critical("database-damaged", &subject, message, told!("database-damaged", told, name)));
        }
        Ok(())
    }

    async fn look_at_stores(&self, findings: &mut Vec<HealthFinding>) -> Result<()> {
        let percent = self.health_limit(&STORE_FREE_PERCENT).await?;
        let registry = self.registry().await?;
        // Concurrently, because each store that does not respond takes until its timeout.
        let readings = join_all(registry.stores.iter().map(|(row, store)| async move {
            match row.kind {
                StoreKind::Database => Reading::default(),
                StoreKind::Directory | StoreKind::S3 | StoreKind::Azure | StoreKind::Gcs => {
                    self.reading(row, store.as_ref()).await
                }
            }
        }));
        for ((row, store), reading) in registry.stores.iter().zip(readings.await) {
            let subject = HealthSubject::Store(row.name.clone());
            if row.kind == StoreKind::Database {
                continue;
            }
            if let Some(trouble) = reading.trouble {
                let message = format!(
                    "It does not answer: its BLOBs cannot be read, and uploads to it fail. The error is: {trouble}."
                );
                findings.push(critical("store-away", &subject, message, told!("store-away", trouble)));
                continue;
            }
            if let Some(Err(error)) = match store {
                Some(store) => Some(store.held().await),
                None => None,
            } && error.code() == Code::StoreTakenOver
            {
                let message = format!("It says: {}.", error.message());
                findings.push(critical(
                    "store-taken-over",
                    &subject,
                    message,
                    told!("store-taken-over", error.message()),
                ));
            }
            // A store that responds but has never been measured is being measured now; until then its usage is unknown.
            let usage = reading.usage.map(|(usage, _)| usage).unwrap_or_default();
            if let Some(free) = usage.free_bytes
                && (free < GIB || free * 100 < (free + usage.disk_bytes) * percent)
            {
                let message = format!("{} MiB are free: free space, or send new BLOBs to another store.", free >> 20);
                let severity = if free < GIB { Severity::Critical } else { Severity::Warning };
                let found = warning("store-full", &subject, message, told!("store-full", free >> 20));
                findings.push(HealthFinding { severity, ..found });
            }
            let (settings, _) = match self.repository.inner.store_settings(row).await {
                Ok(found) => found,
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    let told = told!("store-unreadable", error.message());
                    findings.push(critical("store-away", &subject, error.message().to_owned(), told));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let kept = settings.get("retention_days").and_then(|days| days.parse().ok());
            let found = retention(kept, self.repository.recycle_days());
            findings.extend(found.map(|(message, told)| critical("retention-mismatch", &subject, message, told)));
        }
        Ok(())
    }

    async fn look_at_backups(&self, findings: &mut Vec<HealthFinding>) -> Result<()> {
        let hours = self.health_limit(&BACKUP_HOURS).await?;
        let now = Timestamp::now();
        let due = now.before(Duration::from_secs(hours * 3600));
        // The clocks of the farm's servers may differ a little.
        let until = now.after(CLOCKS_DIFFER);
        let read = move |reader: &mut Reader<'_>| Ok((backup::last_kept(reader, until)?, farm::created_at(reader)?));
        let ((last, any), created) = self.repository.inner.configuration.read(read).await?;
        let (message, told) = match last {
            Some(last) if last < due => {
                let days = (now.micros() - last.micros()) as u64 / DAY.as_micros() as u64;
                (
                    format!("The last backup is {} old: run `strongroom backup`.", counted(days, "day")),
                    told!("backup-old", days),
                )
            }
            None if any.is_some() => (
                "The time of the last backup is in the future, so its age is not known: run `strongroom backup`."
                    .to_owned(),
                told!("backup-ahead"),
            ),
            None if created.is_some_and(|created| created < due) => {
                ("There is no backup: run `strongroom backup DEST`.".to_owned(), told!("backup-none"))
            }
            _ => return Ok(()),
        };
        findings.push(critical("backup-overdue", &HealthSubject::Farm, message, told));
        Ok(())
    }

    async fn look_at_clock(&self, findings: &mut Vec<HealthFinding>) -> Result<()> {
        let days = self.clock_ahead().await?.as_secs() / DAY.as_secs();
        if days > 0 {
            let message = format!(
                "The clock jumped {} ahead: permanent deletions that are due after a period wait that much longer. Set \
                 the clock right; if it is right, run `strongroom clock accept`.",
                counted(days, "day")
            );
            findings.push(critical("clock-ahead", &HealthSubject::Farm, message, told!("clock-ahead", days)));
        }
        Ok(())
    }

    /// Adds findings about the sandbox. A process that opens no documents has none.
    async fn look_at_sandbox(&self, findings: &mut Vec<HealthFinding>) {
        let Ok(sandbox) = self.repository.sandbox() else { return };
        let lacks = match sandbox.missing_restrictions().await {
            Ok(lacks) => lacks,
            Err(error) => {
                let message = format!("Documents are shown without a preview: {}.", error.message());
                let told = told!("sandbox-broken", error.message());
                findings.push(warning("sandbox-open", &HealthSubject::Farm, message, told));
                return;
            }
        };
        for lack in lacks {
            let (message, told) = match lack {
                // Common on older systems, and signals give a child process few possibilities.
                MissingRestriction::Signals => continue,
                MissingRestriction::Files => (
                    "This system has no Landlock: a faulty document that takes over LibreOffice could read the data \
                    directory. Use Linux 5.13 \
                     or newer with Landlock, or set `converter = \"none\"`.",
                    told!("sandbox-files"),
                ),
                MissingRestriction::Calls => (
                    "This system has no seccomp filters: a faulty document that takes over LibreOffice could use the \
                     network. Use a kernel that has them, or set `converter = \"none\"`.",
                    told!("sandbox-calls"),
                ),
            };
            findings.push(warning("sandbox-open", &HealthSubject::Farm, message.to_owned(), told));
        }
    }

    async fn look_at_jobs(&self, findings: &mut Vec<HealthFinding>) -> Result<()> {
        let most_orphans = self.health_limit(&ORPHANS).await?;
        let jobs = self.repository.inner.configuration.read(|reader| job::list(reader, None, 50)).await?;
        let mut kinds = Vec::new();
        for row in jobs {
            // Only the latest job of each kind shows the current state.
            if kinds.contains(&row.kind) {
                continue;
            }
            if row.kind == JobKind::Collect.as_str() && !findings.iter().any(|known| known.rule == "orphans") {
                let found = orphans(&JobProgress::from_text(&row.progress)?, most_orphans);
                findings.extend(found.map(|(message, told)| warning("orphans", &HealthSubject::Farm, message, told)));
            }
            if row.state == JobState::Failed {
                let message = format!("It failed: {}. Resume it when that is repaired.", row.message);
                let told = told!("job-failed", row.message);
                findings.push(warning("job-failed", &HealthSubject::Job(row.kind.clone(), row.id), message, told));
            }
            kinds.push(row.kind);
        }
        Ok(())
    }

    async fn look_at_addresses(&self, findings: &mut Vec<HealthFinding>) -> Result<()> {
        for (address, accounts) in self.shared_addresses().await? {
            let message = format!(
                "{accounts} people signed in from the private address {address}, which looks like a proxy: wrong \
                 passwords of one person slow all of them down, and the audit log cannot tell them apart. Name the \
                 address in trusted_proxies, and set client_address."
            );
            let told = told!("addresses-shared", accounts, address);
            findings.push(warning("addresses-shared", &HealthSubject::Farm, message, told));
        }
        Ok(())
    }
}

/// Adds the findings about one open content database.
async fn look_at_database(
    content: &ContentDatabase,
    [largest, free_percent, most_orphans]: [u64; 3],
    findings: &mut Vec<HealthFinding>,
) -> Result<()> {
    let subject = HealthSubject::Database(content.row.name.clone());
    let bytes = content.database.size_bytes().await?;
    if bytes > largest {
        let message = format!(
            "It has {} GiB, more than the {} GiB that are recommended: move BLOBs out of it, or put new site \
             collections into another content database.",
            bytes / GIB,
            largest / GIB
        );
        let told = told!("database-large", bytes / GIB, largest / GIB);
        findings.push(warning("database-large", &subject, message, told));
    }
    let free = content.database.free_bytes().await?;
    if free > SMALL && free * 100 > bytes * free_percent {
        let message = format!(
            "{} of its {} MiB are empty: a collection returns some of them to the disk while people work; `site \
             database compact` returns all of them, but blocks changes meanwhile.",
            free >> 20,
            bytes >> 20
        );
        let told = told!("database-fragmented", free >> 20, bytes >> 20);
        findings.push(warning("database-fragmented", &subject, message, told));
    }
    if content.database.has_checksums().await? == Some(false) {
        let name = &content.row.name;
        let message = format!(
            "Its pages have no checksums, so damage may be read as good content: `strongroom site database compact \
             {name}` adds checksums, but blocks changes meanwhile."
        );
        let told = told!("database-without-checksums", name);
        findings.push(warning("database-without-checksums", &subject, message, told));
    }
    let faults = unsigned(content.database.read(fault::count).await?);
    if faults > 0 {
        let (are, them) = if faults == 1 { ("is", "it") } else { ("are", "them") };
        let message = format!(
            "{} {are} missing or damaged: bring {them} back from another store or a backup, or accept the loss.",
            counted(faults, "BLOB")
        );
        findings.push(critical("blobs-damaged", &subject, message, told!("blobs-damaged", faults)));
    }
    let pending = content.database.read_long(deletion_queue::totals).await?;
    let orphans: u64 =
        pending.iter().filter(|row| row.reason == ReclaimReason::Orphan).map(|row| unsigned(row.blobs)).sum();
    if orphans > most_orphans {
        let message = format!(
            "{orphans} BLOBs that no database knows are in quarantine: find out which uploads are interrupted, or \
             whether a database was restored to an older state."
        );
        findings.push(warning("orphans", &subject, message, told!("orphans-waiting", orphans)));
    }
    Ok(())
}

/// Returns the finding about a store that keeps objects for `kept` days, when the recycle bins need them for longer.
fn retention(kept: Option<u32>, needed: u32) -> Option<(String, MessageKey)> {
    let kept = kept.filter(|kept| *kept < needed)?;
    let message = format!(
        "It keeps objects for {kept} days only, but deleted items can be restored from the recycle bins for {needed} \
         days: lengthen its retention."
    );
    Some((message, told!("retention-mismatch", kept, needed)))
}

/// Returns the finding about BLOBs that no database refers to, when the last collection or its dry run reported more
/// than `most`. Their present state is not considered.
fn orphans(progress: &JobProgress, most: u64) -> Option<(String, MessageKey)> {
    let of = |name: &str| progress.results.get(name).copied().unwrap_or(0);
    let (aside, would) = (of("quarantined_blobs"), of("would_quarantine_blobs"));
    let (what, told) = match (aside > most, would > most) {
        (true, _) => {
            let what = format!("The last collection put {aside} BLOBs into quarantine that no database knows");
            (what, told!("orphans-collected", aside))
        }
        (_, true) => {
            let what = format!("The last dry run of a collection found {would} BLOBs that no database knows");
            (what, told!("orphans-found", would))
        }
        _ => return None,
    };
    let message = format!(
        "{what}: find out which uploads are interrupted, or whether a database was restored to an older state."
    );
    Some((message, told))
}

fn warning(rule: &'static str, subject: &HealthSubject, message: String, saying: MessageKey) -> HealthFinding {
    HealthFinding { rule, severity: Severity::Warning, subject: subject.clone(), message, message_key: saying }
}

pub(crate) fn critical(
    rule: &'static str,
    subject: &HealthSubject,
    message: String,
    saying: MessageKey,
) -> HealthFinding {
    HealthFinding { severity: Severity::Critical, ..warning(rule, subject, message, saying) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphans_of_a_dry_run_are_told_of_like_those_in_quarantine() {
        let told = |name: &str, count: u64| {
            let mut progress = JobProgress::default();
            progress.results.insert(name.to_owned(), count);
            orphans(&progress, 10).map(|(message, _)| message)
        };
        assert_eq!(told("quarantined_blobs", 10), None);
        assert!(told("quarantined_blobs", 11).unwrap().contains("put 11 BLOBs into quarantine"));
        assert!(told("would_quarantine_blobs", 12).unwrap().contains("dry run of a collection found 12 BLOBs"));
    }

    #[test]
    fn retention_is_compared_with_the_setting_of_the_recycle_bins() {
        assert!(retention(None, 93).is_none());
        assert!(retention(Some(93), 93).is_none());
        assert!(retention(Some(60), 30).is_none());
        let (message, told) = retention(Some(100), 200).unwrap();
        assert!(message.contains("for 100 days only"), "{message}");
        assert!(message.contains("for 200 days"), "{message}");
        assert_eq!(told.1, ["100", "200"]);
    }
}
