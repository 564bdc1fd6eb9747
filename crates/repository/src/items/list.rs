//! Viewing items and paging through their contents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::column::ColumnRow;
use database::content::{column, node, record, sorted};
use model::{Code, ColumnKind, ColumnRole, Error, Id, MAX_PAGE, NodeKind, Result, fold};

use crate::columns::unnamed_columns;
use crate::items::attachments::set_attachments;
use crate::items::item::Item;
use crate::items::order::{ListRequest, Order, Sort, SortKey};
use crate::items::page::Page;
use crate::locks::set_locked_by;
use crate::session::caller::ReadDuration;
use crate::session::known::Known;
use crate::session::locate::Located;
use crate::{Column, Session, Target};

use super::filter::{Filter, ValueTest};
use super::page_values::{PageValues, Values, by_item, fitting_names, fitting_values, readable, values_of};
use super::selective;
use super::slices::{ONE_GO, PageInProgress, Slice};
use super::walk::{End, Listing, Progress, Walked};

/// Maximum number of people or types by which one folder can be ordered. Documents of further people and types still
/// appear in listings, but not in such an order.
const MAX_GROUPS: usize = 2_000;
/// Limit in bytes on the data that each item of one page repeats, summed over the page: the path of the container and
/// other shared data.
const MAX_REPEATED_BYTES: usize = 1 << 20;
/// Maximum number of media types offered for a filter.
const MAX_TYPES: usize = 50;

/// A page of a library or folder, with the columns of its library.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Library or folder.
    pub place: Item,
    /// The page.
    pub page: Page<Item, SortKey>,
    /// Columns of the library, in order; empty outside libraries.
    pub columns: Vec<Column>,
    /// Column values, by item and column.
    pub values: Values,
    /// True if reads of the documents are recorded.
    pub records_reads: bool,
}

impl Session {
    /// An item as the caller sees it.
    #[boxed]
    pub async fn item(&self, target: &Target) -> Result<Item> {
        Ok(self.inspect_known(ReadDuration::Short, target, |reader, known| known.unchecked().item(reader)).await?.1)
    }

    /// Returns an item and its ancestors that exist for the caller's credential, starting with the topmost.
    #[boxed]
    pub async fn item_with_ancestors(&self, target: &Target) -> Result<Vec<Item>> {
        let (_, items) = self
            .inspect_known(ReadDuration::Short, target, |reader, known| {
                let mut above = known.unchecked().clone();
                let mut items = Vec::with_capacity(above.chain.len());
                while !above.chain.is_empty() && above.is_within_credential() {
                    items.push(above.item(reader)?);
                    above.chain.pop();
                }
                items.reverse();
                Ok(items)
            })
            .await?;
        Ok(items)
    }

    /// Returns a page of the contents of a site, library or folder, without items that the caller may not see.
    ///
    /// `limit` is at most [`MAX_PAGE`]. `after` is the `next` of the previous page with the same sorting. A page is
    /// shorter when long paths would exceed a mebibyte in total.
    #[boxed]
    pub async fn list(
        &self,
        target: &Target,
        sort: Sort,
        descending: bool,
        after: Option<SortKey>,
        limit: usize,
    ) -> Result<(Item, Page<Item, SortKey>)> {
        let listed = self.list_with_columns(target, sort, descending, after, limit, 0).await?;
        Ok((listed.place, listed.page))
    }

    /// Returns the same page as [`Session::list`], with the first `most` columns of the library and the items' values
    /// in them. All come from one snapshot; one query reads the values of the whole page.
    #[boxed]
    pub async fn list_with_columns(
        &self,
        target: &Target,
        sort: Sort,
        descending: bool,
        after: Option<SortKey>,
        limit: usize,
        most: usize,
    ) -> Result<Listed> {
        let request = ListRequest { sort, descending, after, limit, columns: most, filter: Filter::default() };
        self.list_filtered(target, request).await
    }

    /// Returns a page in any order, with column values, without the items that the filter excludes.
    ///
    /// If few documents pass the filter, a page may be short or empty and still have a `next`: the walk stops when its
    /// time is up.
    #[boxed]
    pub async fn list_filtered(&self, target: &Target, request: ListRequest) -> Result<Listed> {
        let order = self.group_order(target, &request).await?;
        // With a filter, the database searches until it finds a match, and reads everything when there is none.
        let first = if request.filter.is_empty() { ReadDuration::Short } else { ReadDuration::Long };
        let wanted = Arc::new((request, order));
        let listed = self.in_slices(target, first, move |reader, located, before: Option<PageInProgress>, end| {
            list_slice(reader, located, &wanted.0, &wanted.1, before, &end)
        });
        listed.await
    }

    /// Returns rows of a list with their values, in the order in which they were added, without those that the caller
    /// may not see. `next` is the last row of the answer if the others did not fit into it.
    #[boxed]
    pub async fn rows_by_id(&self, list: &Target, ids: Vec<Id>) -> Result<Listed> {
        if ids.len() > MAX_PAGE {
            return Err(Error::invalid(format!("at most {MAX_PAGE} rows can be read at once: send several requests"))
                .with_code(Code::TooMany));
        }
        let read = move |reader: &mut Reader<'_>, located: &Located| {
            located.require_kind(NodeKind::List)?;
            let place = located.item(reader)?;
            let mut items = Vec::new();
            for row in node::find_many(reader, &ids)? {
                if row.parent_id == place.id && located.lists(&row) {
                    items.push(located.child(reader, &row, &place.path)?);
                }
            }
            let most = fitting(MAX_PAGE, place.path.len()).min(fitting_values(reader, &items)?);
            let columns = columns_of(reader, located, MAX_PAGE)?;
            let values = record::values_in(reader, &readable(&items[..most.min(items.len())]), &columns)?;
            let most = most.min(fitting_names(&items, &values));
            let next = (items.len() > most).then(|| SortKey::Row(items[most - 1].id));
            items.truncate(most);
            set_attachments(reader, &located.access, &mut items)?;
            Ok(Listed {
                place,
                page: Page { items, next },
                columns: unnamed_columns(columns)?,
                values: by_item(values),
                records_reads: located.collection.audit_reads,
            })
        };
        let read = move |reader: &mut Reader<'_>, known: &Known| read(reader, known.unchecked());
        Ok(self.inspect_known(ReadDuration::Short, list, read).await?.1)
    }

    /// Returns the media types, at most 50, of the documents in a library or folder that the caller may see.
    #[boxed]
    pub async fn media_types(&self, target: &Target) -> Result<Vec<String>> {
        self.in_slices(target, ReadDuration::Short, types_slice).await
    }

    /// Returns the order of the walk, with its groups if it has any: people sorted by name, or media types.
    async fn group_order(&self, target: &Target, request: &ListRequest) -> Result<Order> {
        let (sort, filter) = (request.sort, &request.filter);
        if let (Sort::Person | Sort::Name, Some(person)) = (sort, filter.person) {
            return Ok(Order::People(vec![person]));
        }
        if let (Sort::Type | Sort::Name, Some(kind)) = (sort, &filter.media_type) {
            return Ok(Order::Types(vec![kind.clone()]));
        }
        if matches!(sort, Sort::Name | Sort::Modified | Sort::Size) {
            return Ok(Order::Plain);
        }
        let (_, (order, names_entries)) = self
            .inspect_known(ReadDuration::Short, target, move |reader, known| {
                let parent = known.id();
                let order = match sort {
                    Sort::Person => Order::People(sorted::people(reader, parent, MAX_GROUPS)?),
                    Sort::Type => {
                        let mut types = sorted::types(reader, parent, MAX_GROUPS)?;
                        // Documents without a media type come last.
                        types.push(String::new());
                        Order::Types(types)
                    }
                    Sort::Column(column) => return order_of_column(reader, known.unchecked(), column),
                    Sort::Name | Sort::Modified | Sort::Size => Order::Plain,
                };
                Ok((order, false))
            })
            .await?;
        match order {
            Order::People(people) => Ok(Order::People(self.sorted_by_name(target, people, false).await?)),
            Order::Named(column, named) => {
                Ok(Order::Named(column, self.sorted_by_name(target, named, names_entries).await?))
            }
            other => Ok(other),
        }
    }

    /// Sorts people, or entries of lists, by name. Those without a name for the caller come last.
    async fn sorted_by_name(&self, place: &Target, mut named: Vec<Id>, are_entries: bool) -> Result<Vec<Id>> {
        let names: HashMap<Id, String> = match are_entries {
            true => {
                let names = self.entry_names(place, named.clone()).await?;
                names.into_iter().map(|(id, name)| (id, name.title)).collect()
            }
            false => self.principal_names(&named).await?.into_iter().map(|(id, name)| (id, name.name)).collect(),
        };
        named.sort_by_cached_key(|id| {
            let name = names.get(id).map(|name| fold(name));
            (name.is_none(), name, *id)
        });
        Ok(named)
    }
}

fn list_slice(
    reader: &mut Reader<'_>,
    located: &Located,
    request: &ListRequest,
    order: &Order,
    before: Option<PageInProgress>,
    end: &End,
) -> Result<Slice<PageInProgress, Listed>> {
    let place = located.item(reader)?;
    let request = &titles_for_names(reader, located, request)?;
    let listing = Listing::new(located, request, &place.path, order.clone());
    if let (Some(after), None) = (&request.after, &before) {
        listing.require_place(after)?;
    }
    let limit = fitting(request.limit, place.path.len());
    let few = match before {
        None => selective::page(reader, located, request, order, &place.path, limit)?,
        Some(_) => None,
    };
    let mut page = match few {
        Some(page) => page,
        None => match listing.page_slice(reader, before, request.after.as_ref(), limit, end)? {
            Slice::Done(page) => page,
            Slice::Unfinished(begun) => return Ok(Slice::Unfinished(begun)),
        },
    };
    let columns = columns_of(reader, located, request.columns)?;
    let values = match values_of(reader, &page.items, &columns)? {
        PageValues::Fitting(values) => values,
        PageValues::TooMany(limit) => {
            let shorter = ListRequest { limit, ..ListRequest::clone(request) };
            // A shorter page costs no more than this one did, so it is made in one go.
            return list_slice(reader, located, &shorter, order, None, &end.after(ONE_GO));
        }
    };
    set_locked_by(reader, located, &mut page.items)?;
    set_attachments(reader, &located.access, &mut page.items)?;
    Ok(Slice::Done(Listed {
        place,
        page,
        columns: unnamed_columns(columns)?,
        values,
        records_reads: located.collection.audit_reads,
    }))
}

/// Returns the request with its words for names turned into conditions on titles, if the place is a list.
fn titles_for_names<'a>(
    reader: &mut Reader<'_>,
    located: &Located,
    request: &'a ListRequest,
) -> Result<Cow<'a, ListRequest>> {
    if located.node().kind != NodeKind::List || request.filter.name.is_empty() {
        return Ok(Cow::Borrowed(request));
    }
    let mut request = request.clone();
    let words = std::mem::take(&mut request.filter.name);
    let columns = column::list(reader, located.node().library_id)?;
    if let Some(title) = columns.iter().find(|column| column.role == Some(ColumnRole::Title)) {
        let mut words: Vec<String> = fold(&words).split_whitespace().map(ToOwned::to_owned).collect();
        words.sort_unstable();
        words.dedup();
        let tests = words.into_iter().map(|word| (title.id, ValueTest::Contains(word)));
        request.filter.values.extend(tests);
    }
    Ok(Cow::Owned(request))
}

/// State of a search for the media types in use.
struct Types {
    /// Media types still to be examined; `progress` is the state of the walk for the last of them.
    left: Vec<String>,
    progress: Option<Progress>,
    seen: Vec<String>,
}

fn types_slice(
    reader: &mut Reader<'_>,
    located: &Located,
    before: Option<Types>,
    end: End,
) -> Result<Slice<Types, Vec<String>>> {
    let mut types = match before {
        Some(types) => types,
        None => {
            let mut left = sorted::types(reader, located.node().id, MAX_TYPES)?;
            left.reverse();
            Types { left, progress: None, seen: Vec::new() }
        }
    };
    while let Some(kind) = types.left.last().cloned() {
        let request = ListRequest {
            sort: Sort::Type,
            filter: Filter { media_type: Some(kind.clone()), ..Filter::default() },
            ..ListRequest::default()
        };
        let listing = Listing::new(located, &request, "", Order::Types(vec![kind.clone()]));
        let begun = types.progress.take().or_else(|| listing.begin(None));
        // A page with a limit of 0 ends before the first visible document, so it has a `next` exactly when there is
        // such a document.
        match begun.map(|begun| listing.walk(reader, begun, 0, &end)).transpose()? {
            Some(Walked::Unfinished(progress)) => {
                types.progress = Some(progress);
                return Ok(Slice::Unfinished(types));
            }
            Some(Walked::Page(page)) if page.next.is_some() => types.seen.push(kind),
            Some(Walked::Page(_)) | None => {}
        }
        types.left.pop();
        if end.is_over() && !types.left.is_empty() {
            return Ok(Slice::Unfinished(types));
        }
    }
    Ok(Slice::Done(types.seen))
}

/// Returns the number of items, at most `limit` and at least one, that fit into a page when each item repeats `bytes`
/// bytes.
pub(super) fn fitting(limit: usize, bytes: usize) -> usize {
    limit.min(MAX_REPEATED_BYTES / bytes.max(1)).clamp(1, MAX_PAGE)
}

/// Returns the order by a column, and whether its groups are entries of a list.
fn order_of_column(reader: &mut Reader<'_>, located: &Located, id: Id) -> Result<(Order, bool)> {
    let columns = column::list(reader, located.node().library_id)?;
    // A saved view may still name a column that was removed.
    let Some(column) = columns.into_iter().find(|column| column.id == id) else { return Ok((Order::Plain, false)) };
    let names_entries = column.kind.is_lookup();
    let order = match column.kind.single() {
        ColumnKind::Person | ColumnKind::Lookup(_) => {
            let named = sorted::named(reader, located.node().id, column.slot, MAX_GROUPS)?;
            match names_entries && named.len() == MAX_GROUPS {
                // Too many to be sorted by name.
                true => Order::Field(column.slot),
                false => Order::Named(column.slot, named),
            }
        }
        _ => Order::Field(column.slot),
    };
    Ok((order, names_entries))
}

/// Returns the first `most` columns of the library or list.
fn columns_of(reader: &mut Reader<'_>, located: &Located, most: usize) -> Result<Vec<ColumnRow>> {
    let library = located.node().library_id;
    // Attachments have no values: the columns are those of the rows.
    if most == 0 || library.is_none() || located.node().kind == NodeKind::Row {
        return Ok(Vec::new());
    }
    let mut columns = column::list(reader, library)?;
    columns.truncate(most);
    Ok(columns)
}
