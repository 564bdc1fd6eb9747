//! Column values in the user's language: cells of listings, and facts on a document's page.

use std::borrow::Cow;
use std::sync::Arc;

use askama::Template;
use model::{Accent, ColumnKind, ColumnValue, Id, Right};
use repository::{Column, Item, ValueNames};

use super::{names, people};
use crate::frame::page::Page;
use crate::frame::{format, value_format};
use http_core::transfer::value_list;

/// Limit on the characters of a cell.
const MAX_CELL_CHARS: usize = 500;

/// What all cells of a column share.
pub struct CellColumn<'a> {
    /// The column.
    pub column: &'a Column,
    /// Label of the link that edits a value.
    edit: String,
    /// End of the address of the page that edits a value, behind that of the item.
    address: String,
}

impl<'a> CellColumn<'a> {
    /// Returns what the cells of a column share.
    pub fn new(page: &Page, column: &'a Column) -> Self {
        let edit = page.f1("column.edit", column.name.as_str());
        Self { column, edit, address: format!("/values/{}", column.id) }
    }
}

/// Value of one column of one item.
#[derive(Template)]
#[template(path = "cell.html")]
pub struct Cell<'a> {
    /// Surrounding page.
    pub page: &'a Page,
    /// Address of the page about the item.
    pub item: Arc<str>,
    /// The column.
    pub of: &'a CellColumn<'a>,
    /// Formatted value, or empty.
    pub text: Cow<'a, str>,
    /// Address of a link, or of the page of an entry; empty for other kinds.
    pub href: Cow<'a, str>,
    /// True if the address leads out of the server.
    pub is_outside: bool,
    /// Each of several values, if some of them have an address.
    pub parts: Vec<Part>,
    /// Each choice among the values, with its colour.
    pub choices: Vec<(String, &'static str)>,
    /// True if the value is a number and therefore right-aligned.
    pub number: bool,
    /// True if the user may change the value.
    pub editable: bool,
    /// True if the item's content type has the column.
    pub applies: bool,
}

/// One of several values.
pub struct Part {
    /// Formatted value.
    pub text: String,
    /// Address of the page of an entry; empty for other values.
    pub href: String,
}

/// Returns the address of the page about an item, for its cells.
pub fn item_address(item: Id) -> Arc<str> {
    format!("/items/{item}").into()
}

/// Returns the cell of an item in a column. `address` is that of the page about the item.
pub fn cell<'a>(
    page: &'a Page,
    me: Id,
    (item, address): (&Item, &Arc<str>),
    of: &'a CellColumn<'a>,
    value: Option<&'a ColumnValue>,
    names: &'a ValueNames,
) -> Cell<'a> {
    let column = of.column;
    let text = value.map(|value| text(page, value, names)).unwrap_or_default();
    let free = item.check_out.is_none_or(|held| held.by == me);
    Cell {
        page,
        item: Arc::clone(address),
        of,
        href: value.map(|value| address_of(column, value, names)).unwrap_or_default(),
        is_outside: column.kind == ColumnKind::Link,
        parts: value.map(|value| clipped_parts(parts(page, column, value, names))).unwrap_or_default(),
        text: clipped(if column.kind == ColumnKind::Link { short(text) } else { text }),
        choices: value.map(|value| coloured(column, value)).unwrap_or_default(),
        number: column.kind == ColumnKind::Number,
        editable: free && item.rights.has(Right::Edit) && item.kind.has_values() && !column.is_calculated(),
        applies: applies(item, column),
    }
}

/// Shortens a text for a cell. A note can have 60,000 characters.
fn clipped(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= MAX_CELL_CHARS {
        return text;
    }
    match text.char_indices().nth(MAX_CELL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text,
    }
}

/// Shortens the texts of several values for a cell.
fn clipped_parts(mut parts: Vec<Part>) -> Vec<Part> {
    let (mut left, mut shown) = (MAX_CELL_CHARS, 0);
    for part in &mut parts {
        shown += 1;
        match part.text.char_indices().nth(left) {
            Some((end, _)) => {
                part.text.truncate(end);
                part.text.push('…');
                break;
            }
            None => left -= part.text.chars().count(),
        }
    }
    parts.truncate(shown);
    parts
}

/// Returns each of several values, if some of them have an address; otherwise their text says it all.
pub fn parts(page: &Page, column: &Column, value: &ColumnValue, names: &ValueNames) -> Vec<Part> {
    let ColumnValue::Multiple(values) = value else { return Vec::new() };
    let part = |value: &ColumnValue| Part {
        text: text(page, value, names).into_owned(),
        href: address_of(column, value, names).into_owned(),
    };
    let parts: Vec<Part> = values.iter().map(part).collect();
    if parts.iter().all(|part| part.href.is_empty()) { Vec::new() } else { parts }
}

/// Returns choices with their colours. Each colour comes from the place of a choice among those of its column, so that
/// it stays as long as the choices do.
pub fn coloured(column: &Column, value: &ColumnValue) -> Vec<(String, &'static str)> {
    let ColumnKind::Choice(choices) = column.kind.single() else { return Vec::new() };
    let values = match value {
        ColumnValue::Multiple(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    let colour = |text: &String| {
        let place = choices.iter().position(|choice| choice == text);
        // A choice that the column does not offer any more.
        place.map_or("slate", |place| Accent::ALL[place % Accent::ALL.len()].as_str())
    };
    let one = |value: &ColumnValue| match value {
        ColumnValue::Text(text) => Some((text.clone(), colour(text))),
        _ => None,
    };
    values.iter().filter_map(one).collect()
}

/// Returns whether the column belongs to all items or to the item's content type.
pub fn applies(item: &Item, column: &Column) -> bool {
    column.content_type_id.is_none() || column.content_type_id == item.content_type_id
}

/// Returns the address to which a value leads; empty for none.
pub fn address_of<'a>(column: &Column, value: &'a ColumnValue, names: &ValueNames) -> Cow<'a, str> {
    match value {
        ColumnValue::Text(link) if column.kind == ColumnKind::Link => link.into(),
        ColumnValue::Lookup(id) if names.entries.contains_key(id) => format!("/items/{id}/open").into(),
        _ => Cow::default(),
    }
}

/// Formats a value.
pub fn text<'a>(page: &Page, value: &'a ColumnValue, names: &'a ValueNames) -> Cow<'a, str> {
    match value {
        ColumnValue::Text(text) => text.into(),
        ColumnValue::Number(number) => value_format::number(page.language, *number).into(),
        ColumnValue::Date(time) => value_format::day(page.language, *time).into(),
        ColumnValue::Person(id) => names::known_as(&names.people, *id).into(),
        ColumnValue::Lookup(id) => match names.entries.get(id) {
            Some(entry) => entry.title.as_str().into(),
            None => page.s("column.no-entry").into(),
        },
        ColumnValue::YesNo(yes) => page.s(if *yes { "word.yes" } else { "word.no" }).into(),
        ColumnValue::Multiple(values) => {
            values.iter().map(|value| text(page, value, names)).collect::<Vec<_>>().join("; ").into()
        }
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
        Some(ColumnValue::Multiple(values)) => {
            let texts = values.iter().map(|value| edited(page, names, Some(value)));
            value_list::join(texts.filter(|text| !text.is_empty()))
        }
        None => String::new(),
    }
}

/// Returns a value as it is saved again when nobody changed it. Of several people, those who no longer exist are left
/// out.
pub fn kept(value: &ColumnValue, names: &ValueNames) -> ColumnValue {
    let is_there = |value: &&ColumnValue| match value {
        ColumnValue::Person(id) => names.people.contains_key(id),
        _ => true,
    };
    match value {
        ColumnValue::Multiple(values) => ColumnValue::Multiple(values.iter().filter(is_there).cloned().collect()),
        one => one.clone(),
    }
}

/// Returns a link without its scheme.
pub fn short(link: Cow<'_, str>) -> Cow<'_, str> {
    let rest = ["https://", "http://", "mailto:"].iter().find_map(|scheme| link.strip_prefix(scheme));
    rest.unwrap_or(&link).trim_end_matches('/').to_owned().into()
}
