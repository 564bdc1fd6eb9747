//! Values of the items on a page, as many as fit into one answer.

use std::collections::HashMap;

use database::Reader;
use database::content::column::ColumnRow;
use database::content::record;
use model::{ColumnValue, Id, Result, Right};
use rustc_hash::FxHashMap;

use super::item::Item;

/// Number of records that are measured at once. As many or fewer are read without being measured before.
const MEASURED: usize = 100;
/// Limit on the bytes of all stored values on one page.
const MAX_VALUE_BYTES: usize = 8 << 20;
/// Limit on the people and entries that values on one page name. Each takes up to 1,020 bytes where it is shown, and 22
/// where it is stored.
const MAX_NAMED: usize = 16_384;

/// Column values, by item and column.
pub type Values = FxHashMap<(Id, Id), ColumnValue>;

/// Returns the items that the caller may open.
pub(super) fn readable(items: &[Item]) -> Vec<Id> {
    items.iter().filter(|item| item.rights.has(Right::View)).map(|item| item.id).collect()
}

/// The values of the items on a page.
pub(super) enum PageValues {
    Fitting(Values),
    /// They do not fit into one answer; those of so many items, from the first, do.
    TooMany(usize),
}

/// Returns the values of the items that the caller may open.
pub(super) fn values_of(reader: &mut Reader<'_>, items: &[Item], columns: &[ColumnRow]) -> Result<PageValues> {
    let ids = readable(items);
    if columns.is_empty() || ids.is_empty() {
        return Ok(PageValues::Fitting(Values::default()));
    }
    if items.len() > MEASURED {
        let fitting = fitting_values(reader, items)?;
        if fitting < items.len() {
            return Ok(PageValues::TooMany(fitting));
        }
    }
    // One item fits in any case.
    let most = if items.len() == 1 { usize::MAX } else { MAX_VALUE_BYTES };
    let Some(values) = record::values_within(reader, &ids, columns, most)? else {
        return Ok(PageValues::TooMany(fitting_values(reader, items)?));
    };
    let named = fitting_names(items, &values);
    Ok(if named < items.len() { PageValues::TooMany(named) } else { PageValues::Fitting(by_item(values)) })
}

/// Returns the number of items from the first whose values name as many people and entries as fit into one answer, at
/// least one.
pub(super) fn fitting_names(items: &[Item], values: &[(Id, Id, ColumnValue)]) -> usize {
    let is_name = |value: &&ColumnValue| matches!(value, ColumnValue::Person(_) | ColumnValue::Lookup(_));
    let mut named: FxHashMap<Id, usize> = FxHashMap::default();
    let mut all = 0;
    for (item, _, value) in values {
        let names = value.each().iter().filter(is_name).count();
        *named.entry(*item).or_default() += names;
        all += names;
    }
    if all <= MAX_NAMED {
        return items.len();
    }
    let mut left = MAX_NAMED;
    let fitting = items.iter().take_while(|item| {
        let rest = left.checked_sub(named.get(&item.id).copied().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    fitting.count().max(1)
}

pub(super) fn by_item(values: Vec<(Id, Id, ColumnValue)>) -> Values {
    values.into_iter().map(|(item, column, value)| ((item, column), value)).collect()
}

/// Returns the number of items from the first whose values fit into one answer, at least one.
pub(super) fn fitting_values(reader: &mut Reader<'_>, items: &[Item]) -> Result<usize> {
    let ids: Vec<Id> = items.iter().map(|item| item.id).collect();
    let (mut bytes, mut fitting) = (0, 0);
    for some in ids.chunks(MEASURED) {
        let sizes: HashMap<Id, i64> = record::sizes(reader, some)?.into_iter().collect();
        for id in some {
            bytes += sizes.get(id).map_or(0, |bytes| usize::try_from(*bytes).unwrap_or(usize::MAX));
            if bytes > MAX_VALUE_BYTES {
                return Ok(fitting.max(1));
            }
            fitting += 1;
        }
    }
    Ok(fitting.max(1))
}
