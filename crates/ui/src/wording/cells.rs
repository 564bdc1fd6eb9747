//! Column values in the user's language: cells of listings, and facts on a document's page.

use std::collections::HashMap;

use askama::Template;
use model::{ColumnKind, ColumnValue, Id, Right};
use repository::{Column, Item, PrincipalName};

use super::names;
use crate::frame::page::Page;
use crate::frame::value_format;

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
    /// Target of a link; empty for other kinds.
    pub href: String,
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
    names: &HashMap<Id, PrincipalName>,
) -> Cell<'a> {
    let text = value.map(|value| text(page, value, names)).unwrap_or_default();
    let free = item.check_out.is_none_or(|held| held.by == me);
    Cell {
        page,
        item: item.id,
        column: column.id,
        label: column.name.clone(),
        href: if column.kind == ColumnKind::Link { text.clone() } else { String::new() },
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

/// Formats a value.
pub fn text(page: &Page, value: &ColumnValue, names: &HashMap<Id, PrincipalName>) -> String {
    match value {
        ColumnValue::Text(text) => text.clone(),
        ColumnValue::Number(number) => value_format::number(page.language, *number),
        ColumnValue::Date(time) => value_format::day(page.language, *time),
        ColumnValue::Person(id) => names::name_of(names, *id),
        ColumnValue::YesNo(yes) => page.s(if *yes { "word.yes" } else { "word.no" }).to_owned(),
    }
}

/// Returns the users and groups in the values.
pub fn people<'a>(values: impl Iterator<Item = &'a ColumnValue>) -> Vec<Id> {
    values.filter_map(|value| if let ColumnValue::Person(id) = value { Some(*id) } else { None }).collect()
}

/// Returns a link without its scheme.
fn short(link: &str) -> String {
    let rest = ["https://", "http://", "mailto:"].iter().find_map(|scheme| link.strip_prefix(scheme));
    rest.unwrap_or(link).trim_end_matches('/').to_owned()
}
