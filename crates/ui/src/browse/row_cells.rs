//! The cells of the rows of a listing.

use std::borrow::Cow;

use model::{Id, NodeKind, Right, Timestamp};
use repository::{Column, Item, Listed, ValueNames};

use super::view::{Key, Wide};
use crate::frame::format;
use crate::frame::page::Page;
use crate::wording::cells::{self, Cell, CellColumn};
use crate::wording::names::known_as;

/// Content of one cell of a row.
pub enum CellContent<'a> {
    /// A timestamp.
    When(Timestamp),
    /// Plain text.
    Text(Cow<'a, str>),
    /// Size in bytes; documents only.
    Size(Option<u64>),
    /// Value of a library column, which may be editable in place.
    Own(Box<Cell<'a>>),
}

/// A column as it is shown.
pub struct ShownColumn<'a> {
    key: Key,
    /// The column of the library; `None` for a built-in one.
    own: Option<CellColumn<'a>>,
}

/// Returns the columns that are shown.
pub fn shown_columns<'a>(page: &Page, columns: &'a [Column], shown: &[Wide]) -> Vec<ShownColumn<'a>> {
    let column = |wide: &Wide| ShownColumn {
        key: wide.key,
        own: match wide.key {
            Key::Own(id) => columns.iter().find(|column| column.id == id).map(|column| CellColumn::new(page, column)),
            _ => None,
        },
    };
    shown.iter().map(column).collect()
}

/// Returns the cells of an item.
pub fn cells_of<'a>(
    page: &'a Page,
    me: Id,
    found: &'a Listed,
    item: &'a Item,
    shown: &'a [ShownColumn<'a>],
    names: &'a ValueNames,
) -> Vec<CellContent<'a>> {
    let address = cells::item_address(item.id);
    let cell = |shown: &'a ShownColumn<'a>| match &shown.own {
        Some(own) => {
            let value = found.values.get(&(item.id, own.column.id));
            CellContent::Own(Box::new(cells::cell(page, me, (item, &address), own, value, names)))
        }
        None => built_in_cell(page, item, shown.key, names),
    };
    shown.iter().map(cell).collect()
}

fn built_in_cell<'a>(page: &'a Page, item: &'a Item, key: Key, names: &'a ValueNames) -> CellContent<'a> {
    let document = item.kind == NodeKind::Document;
    match key {
        // An item shown only because it leads to another one reveals its name and nothing more.
        Key::Modified | Key::By | Key::Created if !item.rights.has(Right::View) => CellContent::Text(Cow::default()),
        Key::Type if document => CellContent::Text(format::media(page.language, &item.media_type, &item.name)),
        Key::Type => CellContent::Text(page.kind(item.kind.as_str()).into()),
        Key::Modified => CellContent::When(item.modified_at),
        Key::By => CellContent::Text(known_as(&names.people, item.modified_by).into()),
        Key::Size => CellContent::Size(document.then_some(item.size)),
        Key::Created => CellContent::When(item.created_at),
        Key::Version => CellContent::Text(if document { item.version.to_string().into() } else { Cow::default() }),
        Key::Own(_) => CellContent::Text(Cow::default()),
    }
}
