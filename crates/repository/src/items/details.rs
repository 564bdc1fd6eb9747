//! Items with their locks and client properties, as file managers need them.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::lock::LockRow;
use database::content::{collection, lock, property};
use model::{Error, Id, NodeKind, Result, Right, Timestamp, fold};

use crate::items::item::Item;
use crate::items::order::{ListRequest, Order, SortKey};
use crate::items::page::Page;
use crate::items::walk::End;
use crate::session::caller::ReadDuration;
use crate::session::locate::Located;
use crate::{Lock, Property, Session, Target};

use super::list::fitting;
use super::slices::{PageInProgress, Slice};
use super::walk::Listing;

/// Maximum total size in bytes of the client properties in one page.
const MAX_PROPERTY_BYTES: i64 = 1 << 20;

/// Data to load besides the items themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct DetailOptions {
    /// Properties that clients store with them.
    pub properties: bool,
    /// Locks that cover them.
    pub locks: bool,
}

/// An item with its properties and locks.
#[derive(Clone, Debug)]
pub struct Details {
    /// The item.
    pub item: Item,
    /// Properties that clients store with it.
    pub properties: Vec<Property>,
    /// Locks that cover it.
    pub locks: Vec<Lock>,
}

/// Storage space of a site collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes in use, the recycle bin included.
    pub used: u64,
    /// Bytes that may still be added; `None` when there is no limit.
    pub available: Option<u64>,
}

impl Session {
    /// Returns an item with its properties and locks, for clients that work with files. Lists are not found.
    #[boxed]
    pub async fn details(&self, target: &Target, wanted: DetailOptions) -> Result<Details> {
        let (_, found) = self
            .inspect_known(ReadDuration::Short, target, move |reader, known| {
                let located = known.unchecked();
                if !located.node().kind.is_for_file_clients() {
                    return Err(crate::session::errors::no_item());
                }
                let above = locks_above(reader, located, wanted, false)?;
                let item = located.item(reader)?;
                let mut found = complete(reader, located, vec![item], wanted, &above)?;
                found.pop().ok_or_else(crate::session::errors::no_item)
            })
            .await?;
        Ok(found)
    }

    /// Returns a page of the contents of a site, library or folder, by name, folders first, without lists and without
    /// items that the caller may not see. `limit` is at most [`model::MAX_PAGE`], and less where paths are long.
    /// `after` is the `next` of the previous page.
    #[boxed]
    pub async fn details_below(
        &self,
        target: &Target,
        wanted: DetailOptions,
        after: Option<SortKey>,
        limit: usize,
    ) -> Result<Page<Details, SortKey>> {
        let slice = move |reader: &mut Reader<'_>, located: &Located, before: Option<PageInProgress>, end: End| {
            let above = locks_above(reader, located, wanted, true)?;
            let path = located.path();
            let shared = above.iter().map(|lock| lock.owner.len() + lock.path.as_ref().map_or(0, String::len));
            let limit = fitting(limit, path.len() + shared.sum::<usize>());
            let request = ListRequest::default();
            let listing = Listing::new(located, &request, &path, Order::Plain);
            let mut page = match listing.page_slice(reader, before, after.as_ref(), limit, &end)? {
                Slice::Done(page) => page,
                Slice::Unfinished(begun) => return Ok(Slice::Unfinished(begun)),
            };
            if wanted.properties {
                end_early(reader, &mut page)?;
            }
            page.items.retain(|item| item.kind.is_for_file_clients());
            let items = complete(reader, located, page.items, wanted, &above)?;
            Ok(Slice::Done(Page { items, next: page.next }))
        };
        self.in_slices(target, ReadDuration::Short, slice).await
    }

    /// Returns the storage space of the site collection that contains an item. The figures reveal how much other users
    /// have stored, so the caller must have the right to manage the root site.
    #[boxed]
    pub async fn space(&self, target: &Target) -> Result<Space> {
        let (located, (used, _)) = self
            .view(target, |reader, located| {
                if !located.may_see_totals() {
                    return Err(Error::lacking(Right::ManageSite, &located.collection.path));
                }
                collection::usage(reader, located.collection.id)
            })
            .await?;
        let bytes = |value: i64| u64::try_from(value).unwrap_or(0);
        let available = located.collection.quota_bytes.map(|quota| bytes(quota.saturating_sub(used)));
        Ok(Space { used: bytes(used), available })
    }
}

/// Returns the deep locks on the ancestors of the item and, with `itself`, those on the item too.
fn locks_above(reader: &mut Reader<'_>, located: &Located, wanted: DetailOptions, itself: bool) -> Result<Vec<Lock>> {
    if !wanted.locks || !located.collection.has_locks {
        return Ok(Vec::new());
    }
    let count = located.chain.len() - usize::from(!itself);
    let above: Vec<Id> = located.chain[..count].iter().map(|node| node.id).collect();
    let locks = lock::on_items(reader, &above, Timestamp::now())?;
    Ok(locks.into_iter().filter(|lock| lock.deep).map(|row| Lock::on(located, row)).collect())
}

/// Shortens a page so that at most [`MAX_PROPERTY_BYTES`] bytes of client properties are read into memory at once.
/// Keeps at least one item.
fn end_early(reader: &mut Reader<'_>, page: &mut Page<Item, SortKey>) -> Result<()> {
    let ids: Vec<Id> = page.items.iter().map(|item| item.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let sizes: HashMap<Id, i64> = property::sizes(reader, &ids)?.into_iter().collect();
    let mut bytes = 0;
    let fitting = page.items.iter().take_while(|item| {
        bytes += sizes.get(&item.id).copied().unwrap_or(0);
        bytes <= MAX_PROPERTY_BYTES
    });
    let keep = fitting.count().max(1);
    if keep < page.items.len() {
        page.items.truncate(keep);
        page.next = page.items.last().map(|item| match item.kind {
            NodeKind::Document => SortKey::Name(fold(&item.name)),
            NodeKind::Row => SortKey::Row(item.id),
            _ => SortKey::Container(fold(&item.name)),
        });
    }
    Ok(())
}

fn complete(
    reader: &mut Reader<'_>,
    located: &Located,
    items: Vec<Item>,
    wanted: DetailOptions,
    above: &[Lock],
) -> Result<Vec<Details>> {
    let readable: Vec<Id> = items.iter().filter(|item| item.rights.has(Right::View)).map(|item| item.id).collect();
    let mut properties: HashMap<Id, Vec<Property>> = HashMap::new();
    if wanted.properties && !readable.is_empty() {
        for row in property::of_items(reader, &readable)? {
            properties.entry(row.node_id).or_default().push(row.into());
        }
    }
    let mut locks: HashMap<Id, Vec<LockRow>> = HashMap::new();
    if wanted.locks && located.collection.has_locks && !readable.is_empty() {
        for row in lock::on_items(reader, &readable, Timestamp::now())? {
            locks.entry(row.node_id).or_default().push(row);
        }
    }
    let details = items.into_iter().map(|item| {
        let mut covering = if item.rights.has(Right::View) { above.to_vec() } else { Vec::new() };
        for row in locks.remove(&item.id).unwrap_or_default() {
            let mut lock = Lock::of(row, located.principal.id, item.rights.has(Right::Override));
            lock.path = Some(item.path.clone());
            lock.collection = item.kind.is_container();
            covering.push(lock);
        }
        Details { properties: properties.remove(&item.id).unwrap_or_default(), locks: covering, item }
    });
    Ok(details.collect())
}
