//! Looking at items and paging through what they hold.

use std::collections::HashMap;

use database::Reader;
use database::content::node::NodeRow;
use database::content::{column, listing};
use model::{ColumnValue, Id, MAX_PAGE, NodeKind, Result, Right, Timestamp};

use crate::locate::Located;
use crate::view::Item;
use crate::{Column, Session, Target};

/// What a listing is sorted by. Folders, libraries and sites always come first, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Folded name.
    #[default]
    Name,
    /// Time of the last change.
    Modified,
    /// Bytes of the latest version.
    Size,
}

/// Place in a listing: the last entry of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// Behind the container of this folded name.
    Container(String),
    /// Behind the document of this folded name.
    Name(String),
    /// Behind the document with this time and identifier.
    Modified(Timestamp, Id),
    /// Behind the document with this size in bytes and identifier.
    Size(i64, Id),
}

/// One page, and where the next one begins.
#[derive(Clone, Debug)]
pub struct Page<T, K> {
    /// The entries.
    pub items: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<K>,
}

/// What items have in columns, by item and column.
pub type Values = HashMap<(Id, Id), ColumnValue>;

/// A page of a library or folder with the columns of its library.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The library or folder.
    pub place: Item,
    /// The page.
    pub page: Page<Item, SortKey>,
    /// Columns of the library, in order; none outside of libraries.
    pub columns: Vec<Column>,
    /// What items have in columns, by item and column.
    pub values: Values,
}

impl Session {
    /// An item as the caller sees it.
    pub async fn item(&self, target: &Target) -> Result<Item> {
        Ok(self.inspect(target, |reader, located| located.item(reader)).await?.1)
    }

    /// An item and everything above it, from the root site of its collection on.
    pub async fn item_with_ancestors(&self, target: &Target) -> Result<Vec<Item>> {
        let (_, items) = self
            .inspect(target, |reader, located| {
                let mut above = located.clone();
                let mut items = Vec::with_capacity(located.chain.len());
                while !above.chain.is_empty() {
                    items.push(above.item(reader)?);
                    above.chain.pop();
                }
                items.reverse();
                Ok(items)
            })
            .await?;
        Ok(items)
    }

    /// A page of what a site, library or folder holds, without what the caller may not see.
    ///
    /// `limit` is at most [`MAX_PAGE`]; `after` is the `next` of the page before, of the same sorting.
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

    /// The same page together with the first `most` columns of the library and what the items have in them, all of one
    /// moment: one query for the values of the whole page.
    pub async fn list_with_columns(
        &self,
        target: &Target,
        sort: Sort,
        descending: bool,
        after: Option<SortKey>,
        limit: usize,
        most: usize,
    ) -> Result<Listed> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (_, listed) = self
            .inspect(target, move |reader, located| {
                let place = located.item(reader)?;
                let listing = Listing { located, sort, descending, path: &place.path };
                let page = listing.page(reader, after, limit)?;
                let (columns, values) = columns_of(reader, located, &page.items, most)?;
                Ok(Listed { place, page, columns, values })
            })
            .await?;
        Ok(listed)
    }
}

/// What the items have in the first `most` columns of their library, without those that the caller may not open.
fn columns_of(
    reader: &mut Reader<'_>,
    located: &Located,
    items: &[Item],
    most: usize,
) -> Result<(Vec<Column>, Values)> {
    let library = located.node().library_id;
    if most == 0 || library.is_none() {
        return Ok((Vec::new(), HashMap::new()));
    }
    let columns: Vec<Column> = column::list(reader, library)?.into_iter().take(most).map(Into::into).collect();
    let readable: Vec<Id> = items.iter().filter(|item| item.rights.has(Right::View)).map(|item| item.id).collect();
    if columns.is_empty() || readable.is_empty() {
        return Ok((columns, HashMap::new()));
    }
    let values = column::values_of_many(reader, &readable, library)?;
    let shown = values.into_iter().filter(|(_, id, _)| columns.iter().any(|column| column.id == *id));
    let values = shown.map(|(item, column, value)| ((item, column), value)).collect();
    Ok((columns, values))
}

pub(super) struct Listing<'a> {
    pub(super) located: &'a Located,
    pub(super) sort: Sort,
    pub(super) descending: bool,
    pub(super) path: &'a str,
}

impl Listing<'_> {
    pub(super) fn page(
        &self,
        reader: &mut Reader<'_>,
        after: Option<SortKey>,
        limit: usize,
    ) -> Result<Page<Item, SortKey>> {
        let mut items = Vec::new();
        let mut place = after.unwrap_or(SortKey::Container(String::new()));
        if self.located.node().kind == NodeKind::Document {
            return Ok(Page { items, next: None });
        }
        loop {
            // One more than is missing tells whether there is a next page; invisible ones are skipped in greater steps.
            let wanted = (limit - items.len() + 1).clamp(50, MAX_PAGE);
            let rows = self.rows(reader, &place, wanted)?;
            let exhausted = rows.len() < wanted;
            for row in rows {
                if !self.located.may_know(&row) {
                    place = self.key(&row);
                    continue;
                }
                if items.len() == limit {
                    return Ok(Page { items, next: Some(place) });
                }
                place = self.key(&row);
                items.push(self.located.child(reader, &row, self.path)?);
            }
            if exhausted {
                match place {
                    SortKey::Container(_) if self.located.node().kind.holds_documents() => {
                        place = self.first_document()
                    }
                    _ => return Ok(Page { items, next: None }),
                }
            }
        }
    }

    fn rows(&self, reader: &mut Reader<'_>, place: &SortKey, limit: usize) -> Result<Vec<NodeRow>> {
        let parent = self.located.node().id;
        let down = self.descending;
        match place {
            SortKey::Container(name) => {
                listing::containers(reader, parent, name, down && self.sort == Sort::Name, limit)
            }
            SortKey::Name(name) => listing::documents(reader, parent, name, down, limit),
            SortKey::Modified(at, id) => {
                let start = Some((*at, *id)).filter(|(_, id)| !id.is_none());
                listing::by_time(reader, parent, start, down, limit)
            }
            SortKey::Size(size, id) => {
                let start = Some((*size, *id)).filter(|(_, id)| !id.is_none());
                listing::by_size(reader, parent, start, down, limit)
            }
        }
    }

    fn first_document(&self) -> SortKey {
        match self.sort {
            Sort::Name => SortKey::Name(String::new()),
            Sort::Modified => SortKey::Modified(Timestamp::from_micros(0), Id::NONE),
            Sort::Size => SortKey::Size(0, Id::NONE),
        }
    }

    fn key(&self, row: &NodeRow) -> SortKey {
        match (row.kind, self.sort) {
            (NodeKind::Document, Sort::Name) => SortKey::Name(row.folded.clone()),
            (NodeKind::Document, Sort::Modified) => SortKey::Modified(row.modified_at, row.id),
            (NodeKind::Document, Sort::Size) => SortKey::Size(row.size, row.id),
            _ => SortKey::Container(row.folded.clone()),
        }
    }
}
