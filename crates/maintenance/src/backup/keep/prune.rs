//! Removal of sets that no rule keeps, then of the bytes that no remaining set needs.
//!
//! Sets are removed first. An interruption then leaves unreferenced bytes, which the next run removes. The opposite
//! order could leave a set without its bytes.

use std::collections::{BTreeMap, HashSet};
use std::str::FromStr;

use blobs::CompactLimits;
use database::Transaction;
use database::configuration::backup;
use model::{BackupState, Digest, Error, ErrorKind, Id, Result, Timestamp};
use repository::Storage;
use time::OffsetDateTime;
use tokio::task::JoinSet;

use crate::backup::format::list::List;
use crate::backup::format::manifest::Manifest;
use crate::backup::place::destination::{Destination, SetName, Unreadable};

/// Maximum number of digests held in memory. With more, the store is enumerated in several passes.
const MAX_DIGESTS_IN_MEMORY: u64 = 4_000_000;
const PAGE: usize = 2_000;
const AT_ONCE: usize = 32;

/// Retention rules. A set is kept when any rule keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retain {
    rules: Vec<(Period, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    Last,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

const WORDS: [(&str, Period); 6] = [
    ("last", Period::Last),
    ("hourly", Period::Hour),
    ("daily", Period::Day),
    ("weekly", Period::Week),
    ("monthly", Period::Month),
    ("yearly", Period::Year),
];

impl FromStr for Retain {
    type Err = Error;

    /// Parses rules such as `last=3,daily=7,weekly=4,monthly=12`. Each rule keeps the latest set of each of the given
    /// number of most recent periods that have a set.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |rule: &str| {
            Error::invalid(format!(
                "\"{rule}\" is not a rule: write for example last=3,daily=7,weekly=4,monthly=12,yearly=10"
            ))
        };
        let mut rules = Vec::new();
        for rule in text.split(',') {
            let (word, number) = rule.trim().split_once('=').ok_or_else(|| wrong(rule))?;
            let found = WORDS.iter().find(|(known, _)| *known == word.trim());
            let number: usize = number.trim().parse().map_err(|_| wrong(rule))?;
            rules.push((found.ok_or_else(|| wrong(rule))?.1, number));
        }
        if rules.iter().all(|(_, number)| *number == 0) {
            return Err(Error::invalid("these rules keep no backup at all; at least one must be kept"));
        }
        Ok(Self { rules })
    }
}

impl Retain {
    /// Returns the sets to keep, given identifiers and times in any order. Identifiers rise even when the clock is set
    /// back, so they decide which set is the latest. The time only decides to which period a set belongs.
    pub(crate) fn kept(&self, sets: &[(Id, Timestamp)]) -> HashSet<Id> {
        let mut newest_first = sets.to_vec();
        newest_first.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        let mut kept = HashSet::new();
        for (period, number) in &self.rules {
            let mut seen = BTreeMap::new();
            for (place, (id, at)) in newest_first.iter().enumerate() {
                let of = if *period == Period::Last { place.to_string() } else { period_label(*at, *period) };
                if seen.len() == *number && !seen.contains_key(&of) {
                    break;
                }
                if seen.insert(of.clone(), ()).is_none() {
                    kept.insert(*id);
                }
            }
        }
        kept
    }
}

/// Returns the label of the period that contains a time, in UTC.
fn period_label(at: Timestamp, period: Period) -> String {
    let at = OffsetDateTime::from_unix_timestamp(at.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, week, _) = at.to_iso_week_date();
    match period {
        Period::Last => String::new(),
        Period::Hour => format!("{} {}", at.date(), at.hour()),
        Period::Day => at.date().to_string(),
        Period::Week => format!("{year} {week}"),
        Period::Month => format!("{} {}", at.year(), at.month()),
        Period::Year => at.year().to_string(),
    }
}

/// Sets and objects that were removed, or that a dry run would remove.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    /// Sets that were kept.
    pub kept: Vec<Id>,
    /// Number of kept sets that the rules would remove if they counted sets with BLOBs and sets without BLOBs together.
    pub kept_for_blobs: u64,
    /// Sets that were removed.
    pub removed: Vec<Id>,
    /// Unreadable sets. Rules neither count nor remove them. While there is one, no stored object is removed, because
    /// it is unknown which objects the set needs.
    pub unreadable: Vec<Unreadable>,
    /// Number of removed objects that no remaining set needs.
    pub objects: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Applies the rules. The set `just_taken` is never removed. With `dry_run` nothing is removed, and bytes are not
/// counted.
pub(crate) async fn run(
    destination: &Destination,
    farm: Option<&Storage>,
    rules: &Retain,
    just_taken: Option<Id>,
    dry_run: bool,
) -> Result<Pruned> {
    let (sets, unreadable) = destination.described().await?;
    // The rules are applied twice. In the first pass only sets with BLOBs count, so that a set without BLOBs never
    // displaces one with BLOBs. In the second pass all sets count.
    let mut kept: HashSet<Id> = just_taken.into_iter().collect();
    let mut kept_together = kept.clone();
    for with_alone in [false, true] {
        let counted = sets.iter().filter(|(_, manifest)| with_alone || !manifest.needs_stores);
        let times: Vec<_> = counted.map(|(set, m)| (set.id, Timestamp::from_micros(m.started))).collect();
        let found = rules.kept(&times);
        if with_alone {
            kept_together.extend(&found);
        }
        kept.extend(found);
    }
    let kept_for_blobs = kept.difference(&kept_together).count() as u64;
    let mut pruned = Pruned { unreadable, kept_for_blobs, ..Pruned::default() };
    let mut manifests = Vec::new();
    for (set, manifest) in sets {
        if kept.contains(&set.id) {
            pruned.kept.push(set.id);
            manifests.push(manifest);
            continue;
        }
        pruned.removed.push(set.id);
        if !dry_run {
            remove_manifest(destination, farm, &set).await?;
        }
    }
    if !dry_run {
        remove_unneeded(destination, &manifests, &mut pruned).await?;
    }
    Ok(pruned)
}

/// Removes one set, readable or not.
pub(crate) async fn remove(destination: &Destination, farm: Option<&Storage>, id: Id) -> Result<Pruned> {
    let place = destination.files.place();
    let set = destination.sets().await?.into_iter().find(|set| set.id == id).ok_or_else(|| {
        Error::not_found(format!(
            "there is no set {id} in {place}: `strongroom backup list {place}` lists the existing ones"
        ))
    })?;
    remove_manifest(destination, farm, &set).await?;
    let (sets, unreadable) = destination.described().await?;
    let kept = sets.iter().map(|(set, _)| set.id).collect();
    let mut pruned = Pruned { kept, removed: vec![id], unreadable, ..Pruned::default() };
    let manifests: Vec<Manifest> = sets.into_iter().map(|(_, manifest)| manifest).collect();
    remove_unneeded(destination, &manifests, &mut pruned).await?;
    Ok(pruned)
}

/// Removes the manifest of a set. If the farm has a record of the set, its state becomes `removed`, and it no longer
/// holds back garbage collection.
async fn remove_manifest(destination: &Destination, farm: Option<&Storage>, set: &SetName) -> Result<()> {
    destination.remove(set).await?;
    let Some(farm) = farm else { return Ok(()) };
    let (id, actor, place) = (set.id, farm.clone(), destination.files.place());
    let forget = move |transaction: &mut Transaction<'_>| {
        if backup::find(transaction, id)?.is_none_or(|row| row.state == BackupState::Removed) {
            return Ok(());
        }
        backup::remove(transaction, id)?;
        actor.record(transaction, "backup.remove", &id.to_string(), &place)
    };
    farm.configuration().write(forget).await
}

/// Removes the objects that no set needs, unless there is a set whose needs are unknown.
async fn remove_unneeded(destination: &Destination, kept: &[Manifest], pruned: &mut Pruned) -> Result<()> {
    if !pruned.unreadable.is_empty() {
        return Ok(());
    }
    // Notes of unfinished sets are removed before the objects they reference. The next backup would otherwise rely on
    // those objects.
    destination.confirm().await?;
    for (name, _) in destination.unfinished().await? {
        destination.vault.validity.check()?;
        destination.files.remove(&name).await?;
    }
    if let Some(unreadable) = sweep(destination, kept, pruned).await? {
        pruned.unreadable.push(unreadable);
        return Ok(());
    }
    if pruned.objects > 0 {
        destination.vault.validity.check()?;
        destination.vault.store.compact(CompactLimits::default()).await?;
    }
    Ok(())
}

/// Deletes all objects that no kept set needs, one digest range after another. If a list of a set is damaged, it
/// deletes nothing and returns that set.
async fn sweep(destination: &Destination, kept: &[Manifest], pruned: &mut Pruned) -> Result<Option<Unreadable>> {
    let things: u64 = kept.iter().map(|set| set.blobs.count + set.bytes / (64 << 10)).sum();
    let ranges = things.div_ceil(MAX_DIGESTS_IN_MEMORY).clamp(1, 256);
    for range in 0..ranges {
        let (from, to) = (range * 256 / ranges, (range + 1) * 256 / ranges);
        let within = |digest: &Digest| (from..to).contains(&u64::from(digest.as_bytes()[0]));
        // Every pass reads all lists, so a damaged list is detected in the first pass, before anything is deleted.
        let needed = match needed(destination, kept, within).await? {
            Ok(needed) => needed,
            Err(unreadable) => return Ok(Some(unreadable)),
        };
        destination.confirm().await?;
        delete_others(destination, &needed, from, to, pruned).await?;
    }
    Ok(None)
}

/// Returns the stored digests that the kept sets need, restricted to a range, or the set that has a damaged list.
async fn needed(
    destination: &Destination,
    kept: &[Manifest],
    within: impl Fn(&Digest) -> bool,
) -> Result<std::result::Result<HashSet<Digest>, Unreadable>> {
    let mut needed = HashSet::new();
    for manifest in kept {
        let small = manifest.files.iter().map(|file| &file.entry);
        needed.extend(manifest.lists().flatten().chain(small).map(|entry| entry.stored).filter(&within));
        for list in manifest.lists() {
            let mut list = List::new(list.to_vec());
            loop {
                match list.next(&destination.vault).await {
                    Ok(Some(entry)) if within(&entry.stored) => drop(needed.insert(entry.stored)),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(error) if error.kind() == ErrorKind::Corrupt => {
                        let why = format!("a list of the set {} is damaged: {}", manifest.id, error.message());
                        return Ok(Err(Unreadable { id: manifest.id.parse()?, why }));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(Ok(needed))
}

async fn delete_others(
    destination: &Destination,
    needed: &HashSet<Digest>,
    from: u64,
    to: u64,
    pruned: &mut Pruned,
) -> Result<()> {
    let store = &destination.vault.store;
    let mut after = (from > 0).then(|| {
        // The last digest below the range.
        let mut bytes = [0xff; 32];
        bytes[0] = (from - 1) as u8;
        Digest::new(bytes)
    });
    loop {
        let page = store.enumerate(after, PAGE).await?;
        let mut running: JoinSet<Result<()>> = JoinSet::new();
        for entry in page.entries {
            if u64::from(entry.digest.as_bytes()[0]) >= to {
                return wait_until_at_most(&mut running, 0).await;
            }
            if needed.contains(&entry.digest) {
                continue;
            }
            // After the lease lapsed, a backup of another process may rely on the object.
            destination.vault.validity.check()?;
            pruned.objects += 1;
            pruned.bytes += entry.size;
            let store = store.clone();
            running.spawn(async move { store.delete(entry.digest).await });
            wait_until_at_most(&mut running, AT_ONCE).await?;
        }
        wait_until_at_most(&mut running, 0).await?;
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// Waits until at most `most` deletions are running.
async fn wait_until_at_most(running: &mut JoinSet<Result<()>>, most: usize) -> Result<()> {
    while running.len() > most {
        if let Some(done) = running.join_next().await {
            done.map_err(|e| Error::unavailable("a deletion was interrupted").with_source(e))??;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3600 * 1_000_000;

    fn kept(rules: &str, days: &[i64]) -> Vec<i64> {
        // Noon on successive days, starting on Wednesday 2025-01-01.
        let at = |day: i64| Timestamp::from_micros(1_735_732_800_000_000 + day * DAY);
        let sets: Vec<_> = days.iter().map(|day| (Id::new(day + 1), at(*day))).collect();
        let mut kept: Vec<_> = rules.parse::<Retain>().unwrap().kept(&sets).iter().map(|id| id.get() - 1).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn each_rule_keeps_the_latest_set_of_each_period() {
        let days: Vec<i64> = (0..60).collect();
        assert_eq!(kept("last=2", &days), [58, 59]);
        assert_eq!(kept("daily=3", &days), [57, 58, 59]);
        // The last two Sundays, and the latest day of the current week.
        assert_eq!(kept("weekly=3", &days), [46, 53, 59]);
        assert_eq!(kept("monthly=12", &days), [30, 58, 59]);
        assert_eq!(kept("last=1,monthly=2", &days), [58, 59]);
        assert_eq!(kept("daily=3", &[0, 30, 59]), [0, 30, 59]);
        assert_eq!(kept("yearly=1", &[]), Vec::<i64>::new());
    }

    #[test]
    fn a_clock_that_steps_either_way_takes_no_set_from_those_that_are_later() {
        // In the first cases the last set was taken with the clock a year behind. In the others an earlier set was
        // taken with the clock a year ahead.
        for (days, rules, expected) in [
            (&[400, 401, 402, 37][..], "last=1", &[37][..]),
            (&[400, 401, 402, 37], "last=2", &[37, 402]),
            (&[400, 401, 402, 37], "daily=3", &[37, 401, 402]),
            (&[400, 766, 401, 402], "last=1", &[402]),
            (&[400, 766, 401, 402], "daily=2", &[401, 402]),
            (&[400, 766, 401, 402], "daily=3", &[401, 402, 766]),
            (&[400, 766, 401, 402], "yearly=1", &[402]),
        ] {
            let at = |day: i64| Timestamp::from_micros(1_735_732_800_000_000 + day * DAY);
            let sets: Vec<_> = days.iter().zip(1..).map(|(day, id)| (Id::new(id), at(*day))).collect();
            let kept = rules.parse::<Retain>().unwrap().kept(&sets);
            let mut kept: Vec<_> = kept.iter().map(|id| days[id.get() as usize - 1]).collect();
            kept.sort_unstable();
            assert_eq!(kept, expected, "{rules} of {days:?}");
        }
    }

    #[test]
    fn rules_that_keep_nothing_or_say_nothing_are_refused() {
        for wrong in ["", "daily", "daily=x", "fortnightly=2", "last=0", "daily=0,weekly=0"] {
            assert!(wrong.parse::<Retain>().is_err(), "{wrong}");
        }
    }
}
