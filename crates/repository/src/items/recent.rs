//! The documents of a site, library or folder that changed last.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::NodeRow;
use database::content::recent;
use database::content::search::NEWEST;
use model::{Id, NodeKind, Result, is_application_file};

use crate::items::item::Item;
use crate::session::known::Viewed;
use crate::session::locate::Located;
use crate::{Session, Target};

use super::caller_view::CallerView;
use super::merged::Merged;

/// Maximum number of libraries and lists whose documents are merged, and of those that are looked at.
const MAX_LIBRARIES: usize = 50;
const MAX_READ: usize = 500;
/// Number of documents that are examined before the first check of the time.
const FIRST: usize = 100;
/// Time after which no further documents are examined.
const TIME: Duration = Duration::from_millis(10);
/// Number of documents of a library that are read at once.
const BATCH: usize = 8;

impl Session {
    /// Returns the documents below an item that changed last and that the caller may open, newest first, at most
    /// `limit`. Of a document whose drafts the caller may not see, the last published version counts. `None` if only a
    /// search can tell: for a site with many libraries, and if time is up because the caller may open few documents.
    ///
    /// # Errors
    /// Those of [`Session::item`]; `Forbidden` without the right to view the item.
    #[boxed]
    pub async fn recent_below(&self, target: &Target, limit: usize) -> Result<Option<Vec<Item>>> {
        let session = self.clone();
        let look = move |reader: &mut Reader<'_>, viewed: &Viewed| {
            let Some(libraries) = libraries_of(reader, viewed)? else { return Ok(None) };
            let mut view = CallerView::of(&session, &viewed.registry, &viewed.content);
            newest(reader, &mut view, &libraries, &path_below(viewed), limit)
        };
        Ok(self.view(target, look).await?.1)
    }
}

/// Returns what the paths of all items below a place begin with.
pub(super) fn path_below(place: &Located) -> String {
    match place.path() {
        path if path.is_empty() => path,
        path => format!("{path}/"),
    }
}

/// Returns the libraries and lists in which the items below a place are, without those that the caller may not know of;
/// `None` for too many.
pub(super) fn libraries_of(reader: &mut Reader<'_>, place: &Located) -> Result<Option<Vec<Id>>> {
    let node = place.node();
    if node.kind != NodeKind::Site {
        return Ok(Some(vec![node.library_id]));
    }
    let all = recent::libraries_below(reader, node.id, MAX_READ + 1)?;
    let is_whole = all.len() <= MAX_READ;
    let known = all.into_iter().filter(|(id, scope)| place.access.may_know(*id, *scope)).map(|(id, _)| id);
    Ok(Some(known.collect::<Vec<_>>()).filter(|known| is_whole && known.len() <= MAX_LIBRARIES))
}

/// Returns the newest documents; `None` if time is up before there are enough.
fn newest(
    reader: &mut Reader<'_>,
    view: &mut CallerView,
    libraries: &[Id],
    below: &str,
    limit: usize,
) -> Result<Option<Vec<Item>>> {
    let end = Instant::now() + TIME;
    let mut rows = Merged::new(libraries, NEWEST, BATCH);
    let mut found: Vec<Item> = Vec::new();
    for examined in 0.. {
        if examined >= FIRST && Instant::now() >= end {
            return Ok(Some(found).filter(|found| found.len() >= limit));
        }
        let read = |libraries: &[_], most| recent::newest(reader, libraries, most);
        let Some(row) = rows.next(read, |row: &NodeRow| (row.modified_at, row.id))? else { break };
        // The caller may see an earlier version than the one by which rows are ordered, and never a later one.
        if found.len() >= limit && found.last().is_some_and(|last| last.modified_at >= row.modified_at) {
            break;
        }
        if is_application_file(&row.name) {
            continue;
        }
        if let Some(item) = view.show(reader, &row)?.filter(|item| item.path.starts_with(below)) {
            let position = |item: &Item| (item.modified_at, item.id);
            let at = found.partition_point(|other| position(other) > position(&item));
            found.insert(at, item);
            found.truncate(limit);
        }
    }
    Ok(Some(found))
}
