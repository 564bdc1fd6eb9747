//! Column values in the user's language: cells of listings, and facts on a document's page.

use askama::Template;
use model::{ColumnKind, ColumnValue, Id, Right};
use repository::{Column, Item, ValueNames};

use super::{names, people};
use crate::frame::page::Page;
use crate::frame::{format, value_format};

/// Limit on the characters of a cell.
const MAX_CELL_CHARS: usize = 500;

/// Value of one column of one item.
#[derive(Template)]
#[template(path = "cell.html")]
pub struct Cell<'a> {
    /// Surrounding page.
    pub page: &'a Page,
    /// The item.
    pub item: Id,
    /// The column.
    pub column: Id,
    /// Name of the column.
    pub label: String,
    /// Formatted value, or empty.
    pub text: String,
    /// Address of a link, or of the page of an entry; empty for other kinds.
    pub href: String,
    /// True if the address leads out of the server.
    pub is_outside: bool,
    /// True if the value is a number and therefore right-aligned.
    pub number: bool,
    /// True if the user may change the value.
    pub editable: bool,
    /// True if the item's content type has the column.
    pub applies: bool,
}

/// Returns the cell of an item in a column.
pub fn cell<'a>(
    page: &'a Page,
    me: Id,
    item: &Item,
    column: &Column,
    value: Option<&ColumnValue>,
    names: &ValueNames,
) -> Cell<'a> {
    let text = value.map(|value| text(page, value, names)).unwrap_or_default();
    let free = item.check_out.is_none_or(|held| held.by == me);
    Cell {
        page,
        item: item.id,
        column: column.id,
        label: column.name.clone(),
        href: value.map(|value| address_of(column, value, names)).unwrap_or_default(),
        is_outside: column.kind == ColumnKind::Link,
        text: clipped(if column.kind == ColumnKind::Link { short(&text) } else { text }),
        number: column.kind == ColumnKind::Number,
        editable: free && item.rights.has(Right::Edit) && item.kind.has_values() && !column.is_calculated(),
        applies: applies(item, column),
    }
}

/// Shortens a text for a cell. A note can have 60,000 characters.
fn clipped(text: String) -> String {
    match text.char_indices().nth(MAX_CELL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns whether the column belongs to all items or to the item's content type.
pub fn applies(item: &Item, column: &Column) -> bool {
    column.content_type_id.is_none() || column.content_type_id == item.content_type_id
}

/// Returns the address to which a value leads; empty for none.
pub fn address_of(column: &Column, value: &ColumnValue, names: &ValueNames) -> String {
    match value {
        ColumnValue::Text(link) if column.kind == ColumnKind::Link => link.clone(),
        ColumnValue::Lookup(id) if names.entries.contains_key(id) => format!("/items/{id}/open"),
        _ => String::new(),
    }
}

/// Formats a value.
pub fn text(page: &Page, value: &ColumnValue, names: &ValueNames) -> String {
    match value {
        ColumnValue::Text(text) => text.clone(),
        ColumnValue::Number(number) => value_format::number(page.language, *number),
        ColumnValue::Date(time) => value_format::day(page.language, *time),
        ColumnValue::Person(id) => names::name_of(&names.people, *id),
        ColumnValue::Lookup(id) => match names.entries.get(id) {
            Some(entry) => entry.title.clone(),
            None => page.s("column.no-entry").to_owned(),
        },
        ColumnValue::YesNo(yes) => page.s(if *yes { "word.yes" } else { "word.no" }).to_owned(),
    }
}

/// Returns the text of a value in its form field; empty for none.
pub fn edited(page: &Page, names: &ValueNames, value: Option<&ColumnValue>) -> String {
    match value {
        Some(ColumnValue::Text(text)) => text.clone(),
        Some(ColumnValue::Number(number)) => value_format::number_to_edit(page.language, *number),
        Some(ColumnValue::Date(time)) => format::date(*time),
        Some(ColumnValue::Person(id)) => names.people.get(id).map(people::typed).unwrap_or_default(),
        Some(ColumnValue::YesNo(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        Some(ColumnValue::Lookup(id)) => names.typed_entry(*id),
        None => String::new(),
    }
}

/// Returns a link without its scheme.
fn short(link: &str) -> String {
    let rest = ["https://", "http://", "mailto:"].iter().find_map(|scheme| link.strip_prefix(scheme));
    rest.unwrap_or(link).trim_end_matches('/').to_owned()
}
