//! The nightly comparison of an index with its content database, both ways: which versions of which documents and rows
//! are indexed, in which places and with which properties. Differences are repaired and counted. A healthy index has
//! none.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Reader;
use database::content::node::{self, NodeRow};
use database::content::{attachment, feed, record};
use model::{ColumnValue, Error, ErrorKind, Id, NodeKind, Result, Timestamp, is_application_file};
use repository::{IndexEffect, index_effect, indexed_versions};
use search::index::{
    Audience, ComparisonCounts, EntryProperties, FinishedComparison, IndexedEntry, SearchIndex, name_print,
};
use tokio::sync::oneshot;

use super::blocking::blocking;
use super::entries::is_reachable;
use super::follow::{COMMIT_TEXTS, Follower};
use super::rows::is_findable;

/// Documents and rows that are compared at once.
pub(super) const BATCH: usize = 500;
/// Number of them whose values are in memory at once, since one can have 256 KiB.
const VALUES_AT_ONCE: usize = 100;
/// Number of events that an index may be behind and still be compared.
const MAX_EVENTS: usize = 1_000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Time of the day at which comparisons begin (UTC), in seconds.
const NIGHT: i64 = 2 * 60 * 60;

/// Documents as the database has them, in one snapshot.
struct Stretch {
    /// The entries that each document should have.
    expected: BTreeMap<Id, Vec<IndexedEntry>>,
    /// The last document, unless there are no more.
    last: Option<Id>,
    /// Documents with events that are not in the index yet.
    changed: HashSet<Id>,
}

impl Follower {
    /// Compares the next documents, if a comparison is due. Returns whether it did.
    pub(super) async fn compare_on(&mut self) -> Result<bool> {
        self.check_verification()?;
        if self.checkpoint.walk.is_some() || !self.comparison_pace.may_go_on() || !self.begin_comparison() {
            return Ok(false);
        }
        let begun = Instant::now();
        // Taken before the snapshot, so that each change is in the index or among the events behind it.
        let view = self.committed_view().await?;
        let after = Id::new(self.checkpoint.comparison.after.unwrap_or_default());
        let gaps: Vec<i64> = self.checkpoint.gaps.iter().map(|gap| gap.sequence).collect();
        let sequence = self.checkpoint.sequence;
        let read = move |reader: &mut Reader<'_>| stretch(reader, after, sequence, &gaps);
        let Some(Stretch { expected, last, changed }) = self.database.database.read_long(read).await? else {
            self.comparison_pace.note(&self.storage, begun, 0);
            return Ok(false);
        };
        let (first, end) = (Id::new(after.get().saturating_add(1)), last.unwrap_or(Id::new(i64::MAX)));
        let mut indexed = blocking(move || view.entries_between(first, end)).await?;
        let mut differing = Vec::new();
        let counts = &mut self.checkpoint.comparison.counts;
        counts.documents += expected.len() as u64;
        for (id, expected) in expected {
            let found = indexed.remove(&id).unwrap_or_default();
            if found == expected || changed.contains(&id) {
                continue;
            }
            *(if found.is_empty() {
                &mut counts.missing
            } else if expected.is_empty() {
                &mut counts.surplus
            } else {
                &mut counts.outdated
            }) += 1;
            differing.push(id);
        }
        let surplus: Vec<Id> = indexed.into_keys().filter(|id| !changed.contains(id)).collect();
        counts.surplus += surplus.len() as u64;
        differing.extend(surplus);
        metrics::counter!("strongroom_search_repaired_total").increment(differing.len() as u64);
        self.write_items(differing, COMMIT_TEXTS).await?;
        self.checkpoint.comparison.after = last.map(Id::get);
        if last.is_none() {
            self.end_comparison().await?;
        }
        self.comparison_pace.note(&self.storage, begun, 0);
        Ok(true)
    }

    /// Returns the error of a verification that found a damaged file.
    fn check_verification(&mut self) -> Result<()> {
        match self.verification.as_mut().map(oneshot::Receiver::try_recv) {
            None | Some(Err(oneshot::error::TryRecvError::Empty)) => Ok(()),
            Some(ended) => {
                self.verification = None;
                let ended_early = |_| Err(Error::corrupt("the verification of the search index ended early"));
                ended.unwrap_or_else(ended_early)
            }
        }
    }

    /// Returns whether a comparison is under way, after beginning one that is due.
    fn begin_comparison(&mut self) -> bool {
        let (now, comparison) = (Timestamp::now(), &mut self.checkpoint.comparison);
        if comparison.after.is_some() {
            return true;
        }
        // A time that is too far away was set by a clock that was ahead.
        let due = comparison.due.map(Timestamp::from_micros).filter(|due| *due <= now.after(DAY));
        if due.is_none_or(|due| due > now) {
            comparison.due = Some(due.unwrap_or_else(|| next_night(now)).micros());
            return false;
        }
        (comparison.after, comparison.counts) = (Some(0), ComparisonCounts::default());
        true
    }

    /// Notes the end of a comparison, and begins to compare the files of the index with their checksums, because
    /// searches read parts of them that nothing else reads.
    async fn end_comparison(&mut self) -> Result<()> {
        let (now, comparison) = (Timestamp::now(), &mut self.checkpoint.comparison);
        let counts = comparison.counts;
        comparison.due = Some(next_night(now).micros());
        comparison.last = Some(FinishedComparison { at: now.micros(), counts });
        self.commit().await?;
        let (database, ComparisonCounts { documents, missing, outdated, surplus }) = (&self.database.name, counts);
        if counts.differences() > 0 {
            tracing::warn!(
                database,
                documents,
                missing,
                outdated,
                surplus,
                "the search index differed from its content database and was repaired"
            );
        } else {
            tracing::debug!(database, documents, "the search index agrees with its content database");
        }
        self.verification = verification(self.index.clone());
        Ok(())
    }
}

/// Compares the files of an index with their checksums, in a thread that does not keep the server from stopping; `None`
/// if no thread can be started.
fn verification(index: Arc<SearchIndex>) -> Option<oneshot::Receiver<Result<()>>> {
    let (send, receive) = oneshot::channel();
    let verify = move || drop(send.send(index.verify()));
    if let Err(error) = std::thread::Builder::new().name("search-verify".to_owned()).spawn(verify) {
        tracing::warn!(%error, "the files of a search index cannot be verified");
        return None;
    }
    Some(receive)
}

/// Returns the next time at which comparisons begin.
fn next_night(now: Timestamp) -> Timestamp {
    let day = DAY.as_secs().cast_signed();
    let today = now.seconds().div_euclid(day) * day + NIGHT;
    let next = if today > now.seconds() { today } else { today + day };
    Timestamp::from_micros(next * 1_000_000)
}

/// Reads the next documents; `None` if a change that is not indexed yet affects everything below a container.
fn stretch(reader: &mut Reader<'_>, after: Id, sequence: i64, gaps: &[i64]) -> Result<Option<Stretch>> {
    let mut events = feed::after(reader, sequence, MAX_EVENTS + 1)?;
    if !gaps.is_empty() {
        events.append(&mut feed::at(reader, gaps)?);
    }
    if events.len() > MAX_EVENTS {
        return Ok(None);
    }
    for event in &events {
        let concerns_others = match index_effect(&event.action) {
            IndexEffect::Below | IndexEffect::Move | IndexEffect::Values | IndexEffect::Computed => true,
            IndexEffect::Item | IndexEffect::Nothing => false,
        };
        // What is in a container has no events of its own, and what is gone may have been one.
        if concerns_others && node::find(reader, event.node_id)?.is_none_or(|row| row.kind.is_container()) {
            return Ok(None);
        }
    }
    let ids: Vec<Id> = events.into_iter().map(|event| event.node_id).collect();
    // What is done to a row concerns its attachments, which have no events of their own.
    let attachments = attachment::of_rows(reader, &ids, MAX_EVENTS)?;
    if attachments.len() == MAX_EVENTS {
        return Ok(None);
    }
    let mut changed: HashSet<Id> = ids.into_iter().chain(attachments).collect();
    let rows = feed::leaves(reader, after, BATCH)?;
    let last = rows.last().map(|row| row.id).filter(|_| rows.len() == BATCH);
    let expected = undamaged_entries(reader, &rows)?;
    // What cannot be read keeps the entries that it has.
    changed.extend(rows.iter().map(|row| row.id).filter(|id| !expected.contains_key(id)));
    Ok(Some(Stretch { expected, last, changed }))
}

/// Returns the entries that documents and rows should have. Damaged ones are left out.
pub(super) fn undamaged_entries(reader: &mut Reader<'_>, rows: &[NodeRow]) -> Result<BTreeMap<Id, Vec<IndexedEntry>>> {
    match expected_entries(reader, rows) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {}
        read => return read,
    }
    let mut all = BTreeMap::new();
    for row in rows {
        match expected_entries(reader, std::slice::from_ref(row)) {
            Ok(mut read) => all.append(&mut read),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let (item, error) = (row.id.get(), error.report());
                tracing::warn!(item, error, "an item cannot be compared with its search index, because it is damaged");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Returns the entries that documents and rows should have.
fn expected_entries(reader: &mut Reader<'_>, rows: &[NodeRow]) -> Result<BTreeMap<Id, Vec<IndexedEntry>>> {
    let (mut reachable, mut expected) = (HashMap::new(), BTreeMap::new());
    for rows in rows.chunks(VALUES_AT_ONCE) {
        let places = feed::places_of(reader, rows)?;
        let values = values(reader, rows)?;
        for row in rows {
            let is_found = match reachable.get(&row.parent_id) {
                Some(known) => *known,
                None => {
                    let found = is_reachable(reader, row.parent_id)?;
                    reachable.insert(row.parent_id, found);
                    found
                }
            };
            let values = values.get(&row.id).map(Vec::as_slice).unwrap_or_default();
            let is_indexed = match row.kind {
                NodeKind::Row => is_findable(row, values),
                _ => !is_application_file(&row.name),
            };
            let mut entries = Vec::new();
            if is_found && is_indexed {
                let place = places.get(&row.id).copied().unwrap_or(row.parent_id);
                let entry = |indexed: repository::IndexedVersion| {
                    let prints = (name_print(row.shown_name()), properties(row, indexed.audience, values).print());
                    IndexedEntry::new(indexed.version, place, indexed.audience, indexed.holder, prints)
                };
                entries.extend(indexed_versions(row).into_iter().map(entry));
                entries.sort_unstable();
            }
            expected.insert(row.id, entries);
        }
    }
    Ok(expected)
}

/// Returns the values of documents in the columns of their libraries.
fn values(reader: &mut Reader<'_>, rows: &[NodeRow]) -> Result<HashMap<Id, Vec<(Id, ColumnValue)>>> {
    let mut libraries: HashMap<Id, Vec<Id>> = HashMap::new();
    for row in rows {
        libraries.entry(row.library_id).or_default().push(row.id);
    }
    let mut found: HashMap<Id, Vec<(Id, ColumnValue)>> = HashMap::new();
    for (library, documents) in libraries {
        for (document, column, value) in record::each_value_of_many(reader, &documents, library)? {
            found.entry(document).or_default().push((column, value));
        }
    }
    Ok(found)
}

/// Returns the properties that an entry of a document should have.
fn properties<'a>(row: &NodeRow, audience: Audience, values: &'a [(Id, ColumnValue)]) -> EntryProperties<'a> {
    let is_latest = matches!(audience, Audience::All | Audience::Draft);
    EntryProperties {
        checked_out_by: row.holder_id.unwrap_or(Id::NONE),
        changed: is_latest.then_some((row.modified_by, row.modified_at)),
        library: row.library_id,
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nights_begin_at_two() {
        let at = |hours: i64| Timestamp::from_micros((20_000 * 24 + hours) * 3_600_000_000);
        assert_eq!(next_night(at(1)), at(2));
        assert_eq!(next_night(at(2)), at(26));
        assert_eq!(next_night(at(23)), at(26));
    }
}
