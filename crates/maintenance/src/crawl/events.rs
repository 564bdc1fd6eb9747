//! Follows the events of a content database, and notes which of them an index contains.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use database::content::feed::{self, Change};
use database::content::node;
use database::{Engine, Reader};
use model::{Error, Id, Result, Timestamp};
use repository::{IndexEffect, index_effect};
use search::index::{Checkpoint, FollowedEvent, Gap, MAX_GAPS};

use super::follow::{BATCH_BELOW, COMMIT_TEXTS, Follower};
use super::open_index::{has_event, is_jump};

/// Events that are read at once.
const BATCH: usize = 500;
/// Retry interval for missing sequences.
const GAPS: Duration = Duration::from_secs(1);
/// Age at which a missing sequence counts as that of a transaction that was rolled back.
const GIVEN_UP: Duration = Duration::from_secs(60 * 60);

impl Follower {
    /// Writes the documents and rows that the next events changed. Returns false if there are no events.
    pub(super) async fn follow_events(&mut self) -> Result<bool> {
        // Taken before the events are read, so that a later commit shows.
        let state = self.database.database.mark();
        self.has_more_events = false;
        if state.is_some() && state == self.followed {
            return Ok(false);
        }
        let (sequence, newest, gaps) = (self.checkpoint.sequence, self.checkpoint.newest, self.due_gaps());
        let asked = gaps.clone();
        let read = move |reader: &mut Reader<'_>| {
            let mut changes = if gaps.is_empty() { Vec::new() } else { feed::at(reader, &gaps)? };
            changes.append(&mut feed::after(reader, sequence, BATCH)?);
            let has_newest = match newest {
                Some(newest) => has_event(reader, newest)?,
                None => true,
            };
            Ok((changes, has_newest))
        };
        let (changes, has_newest) = self.database.database.read(read).await?;
        let engine = self.database.database.engine();
        self.has_more_events = changes.len() >= BATCH;
        let next = changes.iter().map(|change| change.sequence).find(|next| *next > sequence);
        let wrong = match next.is_some_and(|next| is_jump(engine, sequence, next)) {
            true => {
                Some("the checkpoint of the search index is far before the next event; the server rebuilds the index")
            }
            // New events would hide it.
            false if !has_newest => Some(
                "the content database has lost events that the search index has followed, as when another database \
                 server takes over; the server rebuilds the index",
            ),
            false => None,
        };
        if let Some(wrong) = wrong {
            // What was followed before stays, so that the next look at the index finds the same and rebuilds it.
            self.commit().await?;
            return Err(Error::corrupt(wrong));
        }
        if changes.is_empty() {
            note_followed((&mut self.checkpoint, &mut self.missed), engine, &changes, &asked);
            self.followed = state;
            return Ok(false);
        }
        let effects: BTreeSet<(Id, IndexEffect)> =
            changes.iter().map(|change| (change.node_id, index_effect(&change.action))).collect();
        let of = |wanted| effects.iter().filter(move |(_, effect)| *effect == wanted).map(|(id, _)| *id);
        let items = of(IndexEffect::Item).chain(of(IndexEffect::Move)).collect();
        self.write_items(items, COMMIT_TEXTS).await?;
        // New values of a row change nothing for its attachments.
        let of_rows = |change: &&Change| !matches!(change.action.as_str(), "row.create" | "row.change");
        let moved = changes.iter().filter(of_rows).map(|change| change.node_id).collect::<BTreeSet<Id>>();
        self.write_attachments(moved.into_iter().collect(), COMMIT_TEXTS).await?;
        for id in of(IndexEffect::Move) {
            self.write_moved(id).await?;
        }
        for id in of(IndexEffect::Values) {
            self.write_values(id).await?;
        }
        for id in of(IndexEffect::Computed) {
            self.write_computed(id).await?;
        }
        self.write_below(of(IndexEffect::Below).collect()).await?;
        note_followed((&mut self.checkpoint, &mut self.missed), engine, &changes, &asked);
        Ok(true)
    }

    /// Returns the missing sequences from time to time, none otherwise.
    fn due_gaps(&mut self) -> Vec<i64> {
        if self.gaps_read_at.is_some_and(|at| at.elapsed() < GAPS) {
            return Vec::new();
        }
        self.gaps_read_at = Some(Instant::now());
        self.checkpoint.gaps.iter().map(|gap| gap.sequence).collect()
    }

    /// Writes documents and rows, and all of them below containers.
    async fn write_below(&mut self, ids: Vec<Id>) -> Result<()> {
        let asked = ids.clone();
        let rows = self.database.database.read(move |reader: &mut Reader<'_>| node::find_many(reader, &asked)).await?;
        let containers: Vec<Id> = rows.iter().filter(|row| row.kind.is_container()).map(|row| row.id).collect();
        // What is gone is among them.
        let items = ids.into_iter().filter(|id| !containers.contains(id)).collect();
        self.write_items(items, COMMIT_TEXTS).await?;
        for id in containers {
            let mut after = Id::NONE;
            loop {
                let read = move |reader: &mut Reader<'_>| feed::leaves_below(reader, id, after, BATCH_BELOW);
                let leaves = self.database.database.read_long(read).await?;
                let Some(last) = leaves.last().map(|leaf| leaf.id) else { break };
                after = last;
                self.write(leaves, COMMIT_TEXTS).await?;
            }
        }
        Ok(())
    }
}

/// Moves a checkpoint behind the changes, and remembers sequences that are missing, and since when this process misses
/// them: clocks jump, and those of servers differ. `asked` are those that were missing before and were asked for again.
fn note_followed(
    (checkpoint, missed): (&mut Checkpoint, &mut HashMap<i64, Instant>),
    engine: Engine,
    changes: &[Change],
    asked: &[i64],
) {
    let now = Timestamp::now();
    let seen: BTreeSet<i64> = changes.iter().map(|change| change.sequence).collect();
    // SQLite assigns sequences in the order of the commits.
    let has_gaps = engine == Engine::Postgres;
    let newest = seen.last().copied().unwrap_or_default().max(checkpoint.sequence);
    // No more are remembered, whatever the distance; the newest are.
    let passed = if has_gaps { checkpoint.sequence.saturating_add(1)..newest } else { 0..0 };
    let missing = passed.rev().filter(|sequence| !seen.contains(sequence)).take(MAX_GAPS);
    let mut missing: Vec<Gap> = missing.map(|sequence| Gap { sequence, since: now.micros() }).collect();
    missing.reverse();
    let (asked, given_up) = (asked.iter().collect::<BTreeSet<_>>(), now.before(GIVEN_UP).micros());
    let has_waited = |sequence: &i64| missed.get(sequence).is_some_and(|since| since.elapsed() >= GIVEN_UP);
    let is_over = |gap: &Gap| gap.since <= given_up && has_waited(&gap.sequence) && asked.contains(&gap.sequence);
    checkpoint.gaps.retain(|gap| !seen.contains(&gap.sequence) && !is_over(gap));
    checkpoint.gaps.extend(missing);
    let excess = checkpoint.gaps.len().saturating_sub(MAX_GAPS);
    checkpoint.gaps.drain(..excess);
    let gaps: BTreeSet<i64> = checkpoint.gaps.iter().map(|gap| gap.sequence).collect();
    missed.retain(|sequence, _| gaps.contains(sequence));
    for sequence in gaps {
        missed.entry(sequence).or_insert_with(Instant::now);
    }
    let known = checkpoint.newest.map_or(0, |known| known.sequence);
    let last = changes.iter().max_by_key(|change| change.sequence);
    if let Some(change) = last.filter(|change| change.sequence > known) {
        let (sequence, at, node) = (change.sequence, change.at.micros(), change.node_id.get());
        checkpoint.newest = Some(FollowedEvent { sequence, at, node });
    }
    checkpoint.sequence = newest;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_bounded() {
        assert!(is_jump(Engine::Postgres, 0, i64::MAX) && is_jump(Engine::Postgres, i64::MIN, i64::MAX));
        assert!(!is_jump(Engine::Postgres, 5, 50_000) && !is_jump(Engine::Sqlite, 0, i64::MAX));
        let mut checkpoint = Checkpoint { sequence: i64::MAX, ..Checkpoint::default() };
        note_followed((&mut checkpoint, &mut HashMap::new()), Engine::Postgres, &[], &[]);
        assert_eq!((checkpoint.sequence, checkpoint.gaps.len()), (i64::MAX, 0));
    }

    #[test]
    fn an_open_transaction_is_not_given_up_because_a_clock_jumps() {
        // Another server, whose clock was behind, missed the sequence before.
        let gap = Gap { sequence: 5, since: 0 };
        let mut checkpoint = Checkpoint { sequence: 9, gaps: vec![gap], ..Checkpoint::default() };
        let mut missed = HashMap::new();
        for _ in 0..2 {
            note_followed((&mut checkpoint, &mut missed), Engine::Postgres, &[], &[5]);
            assert_eq!(checkpoint.gaps, [gap]);
        }
        let Some(long_ago) = Instant::now().checked_sub(GIVEN_UP) else { return };
        missed.insert(5, long_ago);
        note_followed((&mut checkpoint, &mut missed), Engine::Postgres, &[], &[5]);
        assert_eq!((checkpoint.gaps.len(), missed.len()), (0, 0));
    }
}
