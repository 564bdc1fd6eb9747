//! Headers of the columns of a listing.

use model::{ColumnKind, Id};
use repository::{Column, Item, Sort};

use super::view::{Key, View, Wide};
use crate::frame::format::{Icon, icon};
use crate::frame::page::Page;
use http_core::protocol::segments::encode_query;

/// Default width of a column when the width of another one is set, in CSS pixels.
const USUAL_WIDTH: u16 = 140;
/// Minimum width of the name column with its surroundings, in CSS pixels.
pub const NAME_WIDTH: u32 = 340;

/// An entry of the menu at the title of a column.
pub struct HeadAction {
    /// Its symbol.
    pub icon: Icon,
    /// Its label.
    pub label: &'static str,
    /// Address of the listing as it then is, or of a form.
    pub href: String,
    /// True if the address is that of a form.
    pub is_form: bool,
}

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
    /// True if the listing is filtered by this column.
    pub is_filtered: bool,
    /// The menu.
    pub actions: Vec<HeadAction>,
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
        is_filtered: false,
        actions: Vec::new(),
    }
}

/// Data that all headers of a listing need.
pub struct HeadContext<'a> {
    /// Surrounding page.
    pub page: &'a Page,
    /// Address of the listing.
    pub here: &'a str,
    /// The library, list or folder that is listed.
    pub place: &'a Item,
    /// The library or list whose columns the caller may change.
    pub managed: Option<Id>,
    /// The view of the listing.
    pub view: &'a View,
    /// The columns of the library or list.
    pub own: &'a [Column],
}

/// Returns the column headers. When one column has a width, all get one, because browsers respect widths only then.
pub fn heads(context: &HeadContext<'_>, shown: &[Wide]) -> (Vec<Head>, Option<u32>) {
    let mut heads: Vec<Head> = (0..shown.len()).map(|at| context.head(shown, at)).collect();
    if heads.iter().all(|head| head.width.is_none()) {
        return (heads, None);
    }
    for head in &mut heads {
        head.width.get_or_insert(USUAL_WIDTH);
    }
    let total = heads.iter().filter_map(|head| head.width).map(u32::from).sum::<u32>();
    (heads, Some(total + NAME_WIDTH))
}

impl HeadContext<'_> {
    fn head(&self, shown: &[Wide], at: usize) -> Head {
        let wide = &shown[at];
        let column = match wide.key {
            Key::Own(id) => self.own.iter().find(|column| column.id == id),
            _ => None,
        };
        let sort = wide.key.sort();
        let order = sort.and_then(|sort| order_of(self.view, sort));
        let falls = match order {
            None => wide.key.sorts_descending_first(),
            Some(order) => order == "ascending",
        };
        Head {
            label: column.map_or_else(|| label(self.page, wide.key).to_owned(), |column| column.name.clone()),
            href: sort.map(|sort| self.address_of(&self.view.sorted_by(sort, falls))).unwrap_or_default(),
            order,
            end: wide.key == Key::Size || column.is_some_and(|column| column.kind == ColumnKind::Number),
            word: wide.key.word(),
            width: wide.width,
            own: column.is_some(),
            is_filtered: self.view.is_filtered_by(wide.key),
            actions: self.actions(shown, at),
        }
    }

    fn address_of(&self, query: &str) -> String {
        format!("{}?{query}", self.here)
    }

    /// Returns the menu of a column.
    fn actions(&self, shown: &[Wide], at: usize) -> Vec<HeadAction> {
        let (page, view, key) = (self.page, self.view, shown[at].key);
        let first_page = View { after: String::new(), ..view.clone() };
        let entry = |sign, label, view: View| HeadAction {
            icon: icon(sign),
            label,
            href: self.address_of(&view.query()),
            is_form: false,
        };
        let form = |sign, label, href| HeadAction { icon: icon(sign), label, href, is_form: true };
        let mut actions = Vec::new();
        if let Some(sort) = key.sort() {
            let sorted = |descending| View { sort, descending, ..first_page.clone() };
            actions.push(entry("arrow-up", page.s("head.ascending"), sorted(false)));
            actions.push(entry("arrow-down", page.s("head.descending"), sorted(true)));
            let grouped = View { sort, grouped: true, ..first_page.clone() };
            if view.grouped && view.sort == sort {
                actions.push(entry("list", page.s("head.ungroup"), View { grouped: false, ..first_page.clone() }));
            } else if grouped.groups(self.own) {
                actions.push(entry("list", page.s("head.group"), grouped));
            }
        }
        if key.can_be_filtered() {
            let href = format!("/items/{}/filter?column={}&{}", self.place.id, key.word(), first_page.query());
            actions.push(form("filter", page.s("head.filter"), href));
            if view.is_filtered_by(key) {
                actions.push(entry("x", page.s("head.no-filter"), view.without_filter(key)));
            }
        }
        let moved = |to: usize| {
            let mut columns = shown.to_vec();
            columns.swap(at, to);
            View { columns, ..first_page.clone() }
        };
        if at > 0 {
            actions.push(entry("chevron-left", page.s("head.forwards"), moved(at - 1)));
        }
        if at + 1 < shown.len() {
            actions.push(entry("chevron-right", page.s("head.back"), moved(at + 1)));
        }
        if shown.len() > 1 {
            let columns = shown.iter().copied().filter(|wide| wide.key != key).collect();
            actions.push(entry("eye", page.s("head.hide"), View { columns, ..first_page.clone() }));
        }
        if let (Some(library), Key::Own(column)) = (self.managed, key) {
            let next = encode_query(&self.address_of(&first_page.query()));
            let href = format!("/items/{library}/columns/{column}?next={next}");
            actions.push(form("pencil", page.s("head.change"), href));
        }
        actions
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
