//! Headers of the columns of a listing.

use model::ColumnKind;
use repository::{Column, Sort};

use super::view::{Key, View, Wide};
use crate::frame::page::Page;

/// Default width of a column when the width of another one is set, in CSS pixels.
const USUAL_WIDTH: u16 = 140;
/// Minimum width of the name column with its surroundings, in CSS pixels.
pub const NAME_WIDTH: u32 = 340;

/// Header of a column.
pub struct Head {
    /// Text of the header.
    pub label: String,
    /// URL that sorts by this column; empty when it cannot be sorted.
    pub href: String,
    /// `ascending` or `descending` when the listing is sorted by this column.
    pub order: Option<&'static str>,
    /// True if the values stand at the end of the line, as numbers do.
    pub end: bool,
    /// The column as a word of the query.
    pub word: String,
    /// Width in CSS pixels.
    pub width: Option<u16>,
    /// True for a column of the library or list.
    pub own: bool,
}

fn order_of(view: &View, sort: Sort) -> Option<&'static str> {
    (view.sort == sort).then_some(if view.descending { "descending" } else { "ascending" })
}

/// Returns the header of the names, or of the titles of a list's rows.
pub fn name_head(page: &Page, here: &str, view: &View, title: Option<&Column>) -> Head {
    let sort = title.map_or(Sort::Name, |title| Sort::Column(title.id));
    let order = order_of(view, sort);
    Head {
        label: title.map_or_else(|| page.s("column.name").to_owned(), |title| title.name.clone()),
        href: format!("{here}?{}", view.sorted_by(sort, order == Some("ascending"))),
        order,
        end: false,
        word: "name".to_owned(),
        width: None,
        own: false,
    }
}

/// Returns the column headers. When one column has a width, all get one, because browsers respect widths only then.
pub fn heads(page: &Page, here: &str, view: &View, own: &[Column], shown: &[Wide]) -> (Vec<Head>, Option<u32>) {
    let mut heads: Vec<Head> = shown.iter().map(|wide| head(page, here, view, own, wide)).collect();
    if heads.iter().all(|head| head.width.is_none()) {
        return (heads, None);
    }
    for head in &mut heads {
        head.width.get_or_insert(USUAL_WIDTH);
    }
    let total = heads.iter().filter_map(|head| head.width).map(u32::from).sum::<u32>();
    (heads, Some(total + NAME_WIDTH))
}

fn head(page: &Page, here: &str, view: &View, own: &[Column], wide: &Wide) -> Head {
    let column = match wide.key {
        Key::Own(id) => own.iter().find(|column| column.id == id),
        _ => None,
    };
    let sort = wide.key.sort();
    let order = sort.and_then(|sort| order_of(view, sort));
    let falls = match order {
        None => wide.key.sorts_descending_first(),
        Some(order) => order == "ascending",
    };
    Head {
        label: column.map_or_else(|| label(page, wide.key).to_owned(), |column| column.name.clone()),
        href: sort.map(|sort| format!("{here}?{}", view.sorted_by(sort, falls))).unwrap_or_default(),
        order,
        end: wide.key == Key::Size || column.is_some_and(|column| column.kind == ColumnKind::Number),
        word: wide.key.word(),
        width: wide.width,
        own: column.is_some(),
    }
}

/// Returns the label of a built-in column.
pub fn label(page: &Page, key: Key) -> &'static str {
    match key {
        Key::Type => page.s("column.type"),
        Key::Modified => page.s("column.modified"),
        Key::By => page.s("column.by"),
        Key::Size => page.s("column.size"),
        Key::Created => page.s("column.created"),
        Key::Version => page.s("column.version"),
        Key::Own(_) => "",
    }
}
