//! The totals below the rows of a listing.

use model::{ColumnValue, Id, Result, Total};
use repository::{Column, Filter, Target};

use super::view::{Key, View, Wide};
use crate::frame::page::Page;
use crate::frame::value_format;
use crate::frame::visit::Visit;

/// Limit on the totals of one page.
const MAX_SHOWN: usize = 10;

/// The row of totals.
pub struct Totals {
    /// A cell for each column that is shown.
    pub cells: Vec<TotalCell>,
    /// True if there are too many items to sum them up.
    pub are_too_many: bool,
}

/// A cell in the row of totals.
#[derive(Default)]
pub struct TotalCell {
    /// Name of the column, if it is one of the library or list.
    pub column: String,
    /// Name of the total; empty for a column without one.
    pub label: &'static str,
    /// Its value.
    pub value: String,
}

/// Returns the totals of a view; `None` if it has none.
pub async fn of(
    visit: &Visit,
    target: &Target,
    view: &View,
    own: &[Column],
    shown: &[Wide],
    filter: Filter,
) -> Result<Option<Totals>> {
    let fits = |id: Id, total: Total| own.iter().any(|column| column.id == id && total.fits(&column.kind));
    let is_shown = |id: Id| shown.iter().any(|wide| wide.key == Key::Own(id));
    let wanted: Vec<(Id, Total)> =
        view.totals.iter().copied().filter(|(id, total)| fits(*id, *total) && is_shown(*id)).take(MAX_SHOWN).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let found = visit.session.totals(target, filter, &wanted).await?;
    let are_too_many = found.is_none();
    let found = found.unwrap_or_else(|| vec![None; wanted.len()]);
    let cell = |wide: &Wide| {
        let column = own.iter().find(|column| wide.key == Key::Own(column.id));
        let Some(column) = column else { return TotalCell::default() };
        let bare = TotalCell { column: column.name.clone(), ..TotalCell::default() };
        let Some(at) = wanted.iter().position(|(id, _)| *id == column.id) else { return bare };
        let value = found.get(at).and_then(Option::as_ref);
        let total = wanted[at].1;
        let value = value.map_or_else(|| "–".to_owned(), |value| text(&visit.page, total, value));
        TotalCell { label: label(&visit.page, total), value, ..bare }
    };
    Ok(Some(Totals { cells: shown.iter().map(cell).collect(), are_too_many }))
}

/// Returns the name of a total.
pub fn label(page: &Page, total: Total) -> &'static str {
    match total {
        Total::Count => page.s("total.count"),
        Total::Sum => page.s("total.sum"),
        Total::Average => page.s("total.average"),
        Total::Min => page.s("total.min"),
        Total::Max => page.s("total.max"),
    }
}

/// Returns a total in words. Averages have four decimals at most.
fn text(page: &Page, total: Total, value: &ColumnValue) -> String {
    match value {
        ColumnValue::Number(number) if total == Total::Average && number.abs() < 1e11 => {
            value_format::number(page.language, (number * 1e4).round() / 1e4)
        }
        ColumnValue::Number(number) => value_format::number(page.language, *number),
        ColumnValue::Date(time) => value_format::day(page.language, *time),
        _ => String::new(),
    }
}
