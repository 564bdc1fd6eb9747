//! Calculated fields of items that were there before their formula, or came from another library. They are computed in
//! small transactions, by whichever server finds them first, and continue where a server was stopped.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::content::event::{self, EventRow};
use database::content::node::{self, NodeRow};
use database::content::{column, library, record};
use database::{Database, Reader, Transaction};
use model::{Id, NodeKind, Result, Timestamp};

use super::field_change::FieldChange;
use super::fields::recalculate;
use super::set::ColumnSet;
use super::unique::refuse_taken;
use crate::Repository;
use crate::items::attachments::is_attachment;

/// Number of records that are looked at in one go, most of which may be in other libraries.
const LOOKED_AT: usize = 5_000;
/// Number of items that one transaction computes.
const AT_ONCE: usize = 500;
/// Time after which a transaction ends that computes them, so that others do not wait for it.
const AT_MOST: Duration = Duration::from_millis(100);
/// Number of libraries and lists that are looked for at once, and of steps for each of them before the next one has its
/// turn.
const LIBRARIES: usize = 100;
const STEPS: usize = 20;

impl Repository {
    /// Computes calculated fields that are out of date, of libraries and lists in all content databases: some of each.
    /// Returns for how many of them this is done.
    ///
    /// # Errors
    /// The first error of a database, after the others had their turn.
    #[boxed]
    pub async fn recompute(&self) -> Result<usize> {
        let (mut done, mut failed, mut actor) = (0, None, None);
        for content in &self.registry().await?.databases {
            let find = |reader: &mut Reader<'_>| library::to_recompute(reader, LIBRARIES);
            let found = content.database.read(find).await;
            let found = found.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Vec::new()
            });
            let actor = match (actor, found.is_empty()) {
                (Some(known), _) => known,
                (None, true) => continue,
                (None, false) => *actor.insert(self.farm_administrator().await?.id),
            };
            for holder in found {
                for _ in 0..STEPS {
                    match step(&content.database, holder, actor).await {
                        Ok(true) => {}
                        Ok(false) => {
                            done += 1;
                            break;
                        }
                        Err(error) => {
                            failed.get_or_insert(error);
                            break;
                        }
                    }
                }
            }
        }
        failed.map_or(Ok(done), Err)
    }
}

/// Looks at the next records, and computes those of a library or list. Returns whether there may be more. An event
/// tells when all are computed, from which the search index knows that values have changed.
async fn step(database: &Database, holder: Id, actor: Id) -> Result<bool> {
    let look = move |reader: &mut Reader<'_>| {
        let Some(after) = library::recompute_after(reader, holder)? else { return Ok(None) };
        Ok(Some((after, Next::after(reader, holder, after)?)))
    };
    let Some((after, looked)) = database.read_long(look).await? else { return Ok(false) };
    let compute = move |transaction: &mut Transaction<'_>| {
        library::lock(transaction, holder)?;
        // Another server may have been faster, or a formula may have changed again.
        if library::recompute_after(transaction, holder)? != Some(after) {
            return Ok(true);
        }
        // Items that arrive set the position to the beginning again. If it was still there, that does not show, so the
        // records are read anew.
        let fresh = if after == Id::NONE { Some(Next::after(transaction, holder, after)?) } else { None };
        let Next { items, end } = fresh.as_ref().unwrap_or(&looked);
        let next = recompute(transaction, holder, items)?.or(*end);
        library::set_recompute_after(transaction, holder, next)?;
        if next.is_none()
            && let Some(row) = node::find(transaction, holder)?
        {
            record_end(transaction, &row, actor)?;
        }
        Ok(next.is_some())
    };
    database.write(compute).await
}

/// The items of a library or list that are computed next.
struct Next {
    /// Items, in ascending order.
    items: Vec<Id>,
    /// The last item that was looked at, if there may be more behind it.
    end: Option<Id>,
}

impl Next {
    fn after(reader: &mut Reader<'_>, holder: Id, after: Id) -> Result<Self> {
        let found = record::after(reader, after, LOOKED_AT)?;
        let mut items: Vec<Id> = found.iter().filter(|(_, library)| *library == holder).map(|(id, _)| *id).collect();
        let last = found.last().map(|(id, _)| *id).filter(|_| found.len() == LOOKED_AT);
        let end = if items.len() > AT_ONCE { items.get(AT_ONCE - 1).copied() } else { last };
        items.truncate(AT_ONCE);
        Ok(Self { items, end })
    }
}

fn record_end(transaction: &mut Transaction<'_>, holder: &NodeRow, actor: Id) -> Result<()> {
    let event = EventRow {
        sequence: 0,
        at: Timestamp::now(),
        actor_id: actor,
        collection_id: holder.collection_id,
        node_id: holder.id,
        action: "column.compute".to_owned(),
        detail: holder.name.clone(),
    };
    event::insert(transaction, &event)
}

/// Notes that the calculated fields of a library or list are out of date, if it has any, and computes those of the
/// first rows of a list.
pub(super) fn begin(transaction: &mut Transaction<'_>, holder: Id, kind: NodeKind) -> Result<()> {
    if !ColumnSet::read(transaction, holder)?.has_calculated() {
        return Ok(());
    }
    library::set_recompute_after(transaction, holder, Some(Id::NONE))?;
    if kind == NodeKind::List {
        let rows = node::rows(transaction, holder, AT_ONCE)?;
        recompute(transaction, holder, &rows.iter().map(|row| row.id).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Computes the calculated fields of an item that came from another library, and refuses it if another item has a value
/// that no two may have. Of what is in a folder, calculated fields are computed later.
///
/// # Errors
/// `Conflict` with code `value_taken`.
pub(crate) fn arrived(transaction: &mut Transaction<'_>, item: Id) -> Result<()> {
    let Some((item, columns)) = with_options(transaction, item)? else { return Ok(()) };
    // The values of a library that arrives as a whole were checked before.
    if !item.kind.defines_columns() {
        refuse_taken(transaction, &columns, &item)?;
    }
    compute_all(transaction, &item, &columns)
}

/// Computes the calculated fields of an item whose values have changed. Of what is in a folder they are computed later.
pub(crate) fn changed(transaction: &mut Transaction<'_>, item: Id) -> Result<()> {
    let Some((item, columns)) = with_options(transaction, item)? else { return Ok(()) };
    compute_all(transaction, &item, &columns)
}

/// Returns an item with the columns of its library, if any of these has options.
fn with_options(transaction: &mut Transaction<'_>, item: Id) -> Result<Option<(NodeRow, ColumnSet)>> {
    let Some(item) = node::find(transaction, item)? else { return Ok(None) };
    if !column::have_options(transaction, item.library_id)? {
        return Ok(None);
    }
    let columns = ColumnSet::read(transaction, item.library_id)?;
    Ok(Some((item, columns)))
}

fn compute_all(transaction: &mut Transaction<'_>, item: &NodeRow, columns: &ColumnSet) -> Result<()> {
    match columns.has_calculated() {
        true if item.kind.is_container() => library::set_recompute_after(transaction, item.library_id, Some(Id::NONE)),
        true => compute(transaction, columns, item),
        false => Ok(()),
    }
}

/// Computes the calculated fields of items, which are in ascending order. Returns the last one that was done if time or
/// work was up before the others.
fn recompute(transaction: &mut Transaction<'_>, holder: Id, ids: &[Id]) -> Result<Option<Id>> {
    let columns = ColumnSet::read(transaction, holder)?;
    if !columns.has_calculated() {
        return Ok(None);
    }
    let begun = Instant::now();
    let mut done = None;
    for id in ids {
        if done.is_some() && (begun.elapsed() >= AT_MOST || !columns.has_work_left()) {
            return Ok(done);
        }
        if let Some(item) = node::lock(transaction, *id)? {
            compute(transaction, &columns, &item)?;
        }
        done = Some(*id);
    }
    Ok(None)
}

/// Computes the calculated fields of an item. One without a record has none.
fn compute(transaction: &mut Transaction<'_>, columns: &ColumnSet, item: &NodeRow) -> Result<()> {
    let Some(before) = record::find(transaction, item.id)? else { return Ok(()) };
    if item.library_id != columns.library() || is_attachment(transaction, item)? {
        return Ok(());
    }
    let mut change = FieldChange::default().of_type(item.content_type_id);
    match recalculate(columns, &mut change, &before) == before {
        true => Ok(()),
        false => record::change(transaction, item, &before, &change.fields()),
    }
}
