//! Notes which events an index contains.

use std::collections::BTreeSet;
use std::time::Duration;

use database::Engine;
use database::content::feed::Change;
use model::Timestamp;
use search::index::{Checkpoint, FollowedEvent, Gap};

/// Age at which a missing sequence counts as that of a transaction that was rolled back.
const GIVEN_UP: Duration = Duration::from_secs(60 * 60);
/// Limit on the missing sequences that are remembered.
const MAX_GAPS: usize = 10_000;

/// Moves a checkpoint behind the changes, and remembers sequences that are missing. `asked` are those that were missing
/// before and were asked for again.
pub(super) fn note_followed(checkpoint: &mut Checkpoint, engine: Engine, changes: &[Change], asked: &[i64]) {
    let now = Timestamp::now();
    let seen: BTreeSet<i64> = changes.iter().map(|change| change.sequence).collect();
    // SQLite assigns sequences in the order of the commits.
    let has_gaps = engine == Engine::Postgres;
    let newest = seen.last().copied().unwrap_or_default().max(checkpoint.sequence);
    let missing = (checkpoint.sequence + 1..newest).filter(|sequence| has_gaps && !seen.contains(sequence));
    let missing: Vec<Gap> = missing.map(|sequence| Gap { sequence, since: now.micros() }).collect();
    let (asked, given_up) = (asked.iter().collect::<BTreeSet<_>>(), now.before(GIVEN_UP).micros());
    let is_over = |gap: &Gap| gap.since <= given_up && asked.contains(&gap.sequence);
    checkpoint.gaps.retain(|gap| !seen.contains(&gap.sequence) && !is_over(gap));
    checkpoint.gaps.extend(missing);
    let excess = checkpoint.gaps.len().saturating_sub(MAX_GAPS);
    checkpoint.gaps.drain(..excess);
    let known = checkpoint.newest.map_or(0, |known| known.sequence);
    let last = changes.iter().max_by_key(|change| change.sequence);
    if let Some(change) = last.filter(|change| change.sequence > known) {
        let (sequence, at, node) = (change.sequence, change.at.micros(), change.node_id.get());
        checkpoint.newest = Some(FollowedEvent { sequence, at, node });
    }
    checkpoint.sequence = newest;
}
