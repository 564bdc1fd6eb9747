//! Measurements of site collections in the background. A round walks through the whole tree, deepest containers first,
//! in short reads, and stores what each container holds in small transactions. Its memory does not depend on the size
//! of the tree. Nothing is counted while documents are saved.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::content::measurement::{self, Attached, MeasuredRow};
use database::content::{event, node};
use database::{Database, Reader, Transaction};
use model::{Id, MAX_DEPTH, NodeKind, Result, Timestamp};
use tokio::time::sleep;

use crate::Repository;

/// Number of items that are read at once.
const PAGE: usize = 500;
/// Number of rows that one transaction stores or removes.
const AT_ONCE: usize = 500;
/// Duration of a read.
const SLICE: Duration = Duration::from_millis(50);
/// Duration of the lease of a round. Each transaction extends it, and there is one at least every quarter of it.
const LEASE: Duration = Duration::from_secs(2 * 60);
/// Age after which a measurement is repeated, if the database has changed since.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Number of site collections that are looked for at once in each database.
const COLLECTIONS: usize = 100;

/// Figures of a container under one scope.
#[derive(Clone, Copy)]
struct Figures {
    documents: i64,
    rows: i64,
    bytes: i64,
    changed_at: Timestamp,
}

impl Figures {
    const NONE: Self = Self { documents: 0, rows: 0, bytes: 0, changed_at: Timestamp::from_micros(0) };

    fn add(&mut self, other: Self) {
        self.documents += other.documents;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.changed_at = self.changed_at.max(other.changed_at);
    }
}

/// A container that the walk is in.
struct Frame {
    id: Id,
    /// Folded name of the last item that was read; `None` when all were.
    after: Option<String>,
    /// Containers in it that were read, but not walked through yet.
    pending: Vec<(Id, Id)>,
    by_scope: HashMap<Id, Figures>,
}

impl Frame {
    /// Enters a container. It has figures under its own scope even if it is empty.
    fn enter(id: Id, scope: Id) -> Self {
        Self { id, after: Some(String::new()), pending: Vec::new(), by_scope: HashMap::from([(scope, Figures::NONE)]) }
    }

    fn add(&mut self, scope: Id, figures: Figures) {
        self.by_scope.entry(scope).or_insert(Figures::NONE).add(figures);
    }

    /// Reads the next items.
    fn read(&mut self, reader: &mut Reader<'_>, after: &str) -> Result<()> {
        let found = measurement::children(reader, self.id, after, PAGE)?;
        let documents: Vec<Id> =
            found.iter().filter(|child| child.kind == NodeKind::Document).map(|child| child.id).collect();
        let bytes: HashMap<Id, i64> = match documents.is_empty() {
            true => HashMap::new(),
            false => measurement::bytes(reader, &documents)?.into_iter().collect(),
        };
        let rows: Vec<Id> = found.iter().filter(|child| child.kind == NodeKind::Row).map(|child| child.id).collect();
        let attached = if rows.is_empty() { Vec::new() } else { measurement::attached(reader, &rows)? };
        for Attached { scope_id, documents, bytes, changed_at } in attached {
            self.add(scope_id, Figures { documents, rows: 0, bytes, changed_at });
        }
        self.after = found.last().filter(|_| found.len() == PAGE).map(|last| last.folded.clone());
        for child in found {
            self.add(
                child.scope_id,
                Figures {
                    documents: i64::from(child.kind == NodeKind::Document),
                    rows: i64::from(child.kind == NodeKind::Row),
                    bytes: bytes.get(&child.id).copied().unwrap_or(0),
                    changed_at: child.modified_at,
                },
            );
            if child.kind.is_container() {
                self.pending.push((child.id, child.scope_id));
            }
        }
        Ok(())
    }
}

/// A walk through a site collection.
struct Walk {
    stack: Vec<Frame>,
    /// Rows that are complete, but not stored yet.
    complete: Vec<MeasuredRow>,
}

impl Walk {
    /// Walks until the time is up, enough rows are complete, or the walk is.
    fn go_on(mut self, reader: &mut Reader<'_>) -> Result<Self> {
        let begun = Instant::now();
        while begun.elapsed() < SLICE && self.complete.len() < AT_ONCE {
            let depth = self.stack.len();
            let Some(frame) = self.stack.last_mut() else { break };
            if let Some((id, scope)) = frame.pending.pop() {
                // A container that was moved meanwhile can be met twice, but not without end.
                if depth <= MAX_DEPTH {
                    self.stack.push(Frame::enter(id, scope));
                }
            } else if let Some(after) = frame.after.take() {
                frame.read(reader, &after)?;
            } else {
                self.leave();
            }
        }
        Ok(self)
    }

    /// Completes the innermost container and adds its figures to those of the one above it.
    fn leave(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        for (scope_id, figures) in frame.by_scope {
            let Figures { documents, rows, bytes, changed_at } = figures;
            self.complete.push(MeasuredRow { node_id: frame.id, scope_id, documents, rows, bytes, changed_at });
            if let Some(above) = self.stack.last_mut() {
                above.add(scope_id, figures);
            }
        }
    }
}

impl Repository {
    /// Measures the site collections for which somebody asked for it. With `all`, also those without a measurement, and
    /// those whose measurement is a day old if the database has changed since. Returns how many were measured.
    ///
    /// # Errors
    /// The first error of a database, after the others had their turn.
    #[boxed]
    pub async fn measure(&self, all: bool) -> Result<usize> {
        let (mut done, mut failed) = (0, None);
        for content in &self.registry().await?.databases {
            let now = Timestamp::now();
            let find = move |reader: &mut Reader<'_>| match all {
                true => measurement::due(reader, now, now.before(MAX_AGE), now.after(LEASE), COLLECTIONS),
                false => measurement::wanted(reader, now, now.after(LEASE), COLLECTIONS),
            };
            let found = content.database.read(find).await.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Vec::new()
            });
            for collection in found {
                match measure_one(&content.database, collection).await {
                    Ok(finished) => done += usize::from(finished),
                    Err(error) => {
                        failed.get_or_insert(error);
                    }
                }
            }
        }
        failed.map_or(Ok(done), Err)
    }
}

/// Measures one site collection. Returns false if another server does so.
async fn measure_one(database: &Database, collection: Id) -> Result<bool> {
    let begun = Timestamp::now();
    let begin = move |transaction: &mut Transaction<'_>| {
        let now = Timestamp::now();
        measurement::begin(transaction, collection, now, now.after(LEASE))
    };
    let Some(round) = database.write(begin).await? else { return Ok(false) };
    // What is committed after this read may or may not be counted, and makes the measurement old.
    let start = move |reader: &mut Reader<'_>| {
        let root = node::find(reader, collection)?.map(|root| Frame::enter(root.id, root.scope_id));
        Ok((event::last(reader)?, Walk { stack: root.into_iter().collect(), complete: Vec::new() }))
    };
    let (sequence, mut walk) = database.read(start).await?;
    let mut kept = Instant::now();
    while !walk.stack.is_empty() || !walk.complete.is_empty() {
        let slice = Instant::now();
        walk = database.read_long(move |reader| walk.go_on(reader)).await?;
        if walk.complete.len() >= AT_ONCE || walk.stack.is_empty() || kept.elapsed() > LEASE / 4 {
            let rest = walk.complete.split_off(AT_ONCE.min(walk.complete.len()));
            let rows = std::mem::replace(&mut walk.complete, rest);
            let store = move |transaction: &mut Transaction<'_>| {
                rows.iter().try_for_each(|row| measurement::put(transaction, collection, round, row))?;
                measurement::keep(transaction, collection, round, Timestamp::now().after(LEASE))
            };
            if !database.write(store).await? {
                return Ok(false);
            }
            kept = Instant::now();
        }
        // At most half of the time is spent reading, so that requests come first.
        sleep(slice.elapsed()).await;
    }
    let finish =
        move |transaction: &mut Transaction<'_>| measurement::finish(transaction, collection, round, begun, sequence);
    if !database.write(finish).await? {
        return Ok(false);
    }
    let remove =
        move |transaction: &mut Transaction<'_>| measurement::remove_before(transaction, collection, round, AT_ONCE);
    while database.write(remove).await? > 0 {}
    metrics::counter!("strongroom_measurements_total").increment(1);
    Ok(true)
}
