//! Calculated fields of items that were there before their formula. They are computed in small transactions, by
//! whichever server finds them first, and continue where a server was stopped.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::content::{column, library, node, record};
use database::{Reader, Transaction};
use model::{Error, Id, NodeKind, Result};

use super::set::ColumnSet;
use crate::Repository;

/// Number of records that one transaction looks at.
const AT_ONCE: usize = 500;
/// Number of items that are locked at once.
const FEW: usize = 20;
/// Time after which a transaction ends that computes them, so that others do not wait for it.
const AT_MOST: Duration = Duration::from_millis(100);
/// Number of libraries and lists that are looked for at once.
const LIBRARIES: usize = 100;

impl Repository {
    /// Computes the calculated fields that are out of date, of libraries and lists in all content databases. Returns
    /// for how many of them this is done.
    ///
    /// # Errors
    /// The first error of a database, after the others were done.
    #[boxed]
    pub async fn recompute(&self) -> Result<usize> {
        let (mut done, mut failed) = (0, None);
        for content in &self.registry().await?.databases {
            let found = content.database.read(|reader: &mut Reader<'_>| library::to_recompute(reader, LIBRARIES)).await;
            for library in found.unwrap_or_else(|error| note(&mut failed, error)) {
                loop {
                    let step = move |transaction: &mut Transaction<'_>| recompute_some(transaction, library);
                    match content.database.write(step).await {
                        Ok(true) => {}
                        Ok(false) => {
                            done += 1;
                            break;
                        }
                        Err(error) => {
                            note(&mut failed, error);
                            break;
                        }
                    }
                }
            }
        }
        failed.map_or(Ok(done), Err)
    }
}

/// Keeps the first error, so that other databases are done before it is returned.
fn note(failed: &mut Option<Error>, error: Error) -> Vec<Id> {
    failed.get_or_insert(error);
    Vec::new()
}

/// Notes that the calculated fields of a library or list are out of date, and computes those of the first rows of a
/// list.
pub(super) fn begin(transaction: &mut Transaction<'_>, holder: Id, kind: NodeKind) -> Result<()> {
    library::set_recompute_after(transaction, holder, Some(Id::NONE))?;
    if kind == NodeKind::List {
        let rows = node::rows(transaction, holder, AT_ONCE)?;
        let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
        recompute(transaction, holder, &ids)?;
    }
    Ok(())
}

/// Computes the calculated fields of some items, and returns whether there may be more.
fn recompute_some(transaction: &mut Transaction<'_>, holder: Id) -> Result<bool> {
    library::lock(transaction, holder)?;
    // Another server may have been faster.
    let Some(after) = library::recompute_after(transaction, holder)? else { return Ok(false) };
    let found = record::after(transaction, after, AT_ONCE)?;
    let ids: Vec<Id> = found.iter().filter(|(_, library)| *library == holder).map(|(id, _)| *id).collect();
    let next = match recompute(transaction, holder, &ids)? {
        Some(last) => Some(last),
        None => found.last().map(|(id, _)| *id).filter(|_| found.len() == AT_ONCE),
    };
    library::set_recompute_after(transaction, holder, next)?;
    Ok(next.is_some())
}

/// Computes the calculated fields of items. Returns the last one that was done if time was up before the others.
fn recompute(transaction: &mut Transaction<'_>, holder: Id, ids: &[Id]) -> Result<Option<Id>> {
    let columns = ColumnSet::read(transaction, holder)?;
    if ids.is_empty() || !columns.has_calculated() {
        return Ok(None);
    }
    let begun = Instant::now();
    for some in ids.chunks(FEW) {
        let mut items = node::lock_many(transaction, some)?;
        items.sort_by_key(|item| item.id);
        for item in items {
            let fields = record::find(transaction, item.id)?.unwrap_or_default();
            columns.recompute(transaction, &item, &fields)?;
        }
        if begun.elapsed() >= AT_MOST {
            return Ok(some.last().copied().filter(|last| ids.last() != Some(last)));
        }
    }
    Ok(None)
}

/// Notes that an item came from another library, which may have other calculated columns.
pub(crate) fn arrived(transaction: &mut Transaction<'_>, library: Id) -> Result<()> {
    match column::have_options(transaction, library)? && ColumnSet::read(transaction, library)?.has_calculated() {
        true => library::set_recompute_after(transaction, library, Some(Id::NONE)),
        false => Ok(()),
    }
}
