//! Totals of columns: counts, sums, averages and extremes of the values in a list, library or folder.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node;
use database::content::record::{self, ScopeTotals};
use model::{ColumnKind, ColumnValue, Error, Id, MAX_PAGE, NodeKind, Result, Right, SortValue, Timestamp, Total};

use crate::session::caller::ReadDuration;
use crate::session::known::Known;
use crate::{Column, Filter, ListRequest, Session, Target};

/// Limit on the items that are read one by one for totals.
const MAX_ITEMS: usize = 5_000;
/// Limit on the pages that are read for them. A page is short when its time is up.
const MAX_PAGES: usize = 50;
/// Limit on the rows whose index entries are read for totals.
const MAX_ROWS: usize = 100_000;
/// Limit on the totals of one request.
const MAX_TOTALS: usize = 60;
/// Limit on their columns. Each is read as a whole.
const MAX_COLUMNS: usize = 10;

/// The sums of one column.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    sum: f64,
    min: Option<f64>,
    max: Option<f64>,
}

impl Sums {
    fn add(&mut self, other: Self) {
        let least = |a: Option<f64>, b: Option<f64>, f: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(f(a, b)),
            (a, b) => a.or(b),
        };
        self.count += other.count;
        self.sum += other.sum;
        self.min = least(self.min, other.min, f64::min);
        self.max = least(self.max, other.max, f64::max);
    }

    fn of_scope(totals: &ScopeTotals) -> Self {
        let ScopeTotals { count, sum, min, max, .. } = *totals;
        Self { count: count.unsigned_abs(), sum, min, max }
    }

    fn of_value(value: &ColumnValue) -> Self {
        let SortValue { number, .. } = value.sort_value();
        Self { count: 1, sum: number, min: Some(number), max: Some(number) }
    }

    /// Returns a total as a value of its column; `None` if there is none, or if it is too large for a number.
    fn total(&self, total: Total, kind: &ColumnKind) -> Option<ColumnValue> {
        let number = |number: f64| Some(ColumnValue::Number(number)).filter(|_| number.is_finite());
        let extreme = |found: Option<f64>| match kind {
            ColumnKind::Date => found.map(|micros| ColumnValue::Date(Timestamp::from_micros(micros as i64))),
            _ => found.map(ColumnValue::Number),
        };
        match total {
            Total::Count => number(self.count as f64),
            _ if self.count == 0 => None,
            Total::Sum => number(self.sum),
            Total::Average => number(self.sum / self.count as f64),
            Total::Min => extreme(self.min),
            Total::Max => extreme(self.max),
        }
    }
}

impl Session {
    /// Returns totals of columns over the items directly in a list, library or folder that pass a filter and that the
    /// caller may open, in the order of `wanted`. A total without any value is `None`. There are no totals of more than
    /// 100,000 rows, and none of more than 5,000 items outside lists or with a filter.
    ///
    /// # Errors
    /// `NotFound`, also for a column; `Forbidden`; `Invalid` for a total that its column does not have, and for more
    /// than 60 totals or 10 columns.
    #[boxed]
    pub async fn totals(
        &self,
        target: &Target,
        filter: Filter,
        wanted: &[(Id, Total)],
    ) -> Result<Option<Vec<Option<ColumnValue>>>> {
        if wanted.len() > MAX_TOTALS {
            return Err(Error::invalid(format!("at most {MAX_TOTALS} totals can be asked for at once")));
        }
        let (columns, _) = self.columns(target).await?;
        let mut asked: HashMap<Id, &Column> = HashMap::new();
        for (id, total) in wanted {
            let column = columns.iter().find(|column| column.id == *id);
            let column = column.ok_or_else(|| Error::not_found("the library or list has no such column"))?;
            if !total.fits(&column.kind) {
                return Err(Error::invalid(format!("{}: the column has no {}", column.name, total.as_str())));
            }
            asked.insert(*id, column);
        }
        let ids: Vec<Id> = asked.keys().copied().collect();
        if ids.len() > MAX_COLUMNS {
            return Err(Error::invalid(format!("at most {MAX_COLUMNS} columns can be summed up at once")));
        }
        let is_list = self.item(target).await?.kind == NodeKind::List;
        let sums = match is_list && filter.is_empty() {
            true => self.sums_of_list(target, ids).await?,
            false => self.sums_of_items(target, filter, &ids).await?,
        };
        let total = |sums: &HashMap<Id, Sums>, id: Id, total: Total| {
            let column = asked.get(&id)?;
            sums.get(&id).copied().unwrap_or_default().total(total, &column.kind)
        };
        Ok(sums.map(|sums| wanted.iter().map(|(id, of)| total(&sums, *id, *of)).collect()))
    }

    /// Sums up the index entries of a list, by what protects its rows; `None` if there are too many.
    async fn sums_of_list(&self, list: &Target, ids: Vec<Id>) -> Result<Option<HashMap<Id, Sums>>> {
        let read = move |reader: &mut Reader<'_>, known: &Known| {
            let located = known.clone().viewed()?;
            if node::count_rows(reader, located.node().id, MAX_ROWS + 1)? > MAX_ROWS {
                return Ok(None);
            }
            let slots = record::slots_of(reader, located.node().library_id, &ids)?;
            let mut found = HashMap::new();
            for (id, slot) in slots {
                let mut sums = Sums::default();
                for scope in record::totals(reader, located.node().id, slot, SortValue::EMPTY.number)? {
                    if located.access.rights(scope.scope).has(Right::View) {
                        sums.add(Sums::of_scope(&scope));
                    }
                }
                found.insert(id, sums);
            }
            Ok(Some(found))
        };
        Ok(self.inspect_known(ReadDuration::Long, list, read).await?.1)
    }

    /// Sums up items one by one; `None` if there are too many.
    async fn sums_of_items(&self, target: &Target, filter: Filter, ids: &[Id]) -> Result<Option<HashMap<Id, Sums>>> {
        let mut request = ListRequest { limit: MAX_PAGE, columns: MAX_PAGE, filter, ..ListRequest::default() };
        let (mut sums, mut read): (HashMap<Id, Sums>, usize) = (HashMap::new(), 0);
        for _ in 0..MAX_PAGES {
            let listed = self.list_filtered(target, request.clone()).await?;
            read += listed.page.items.len();
            if read > MAX_ITEMS {
                return Ok(None);
            }
            for ((_, column), value) in &listed.values {
                if ids.contains(column) {
                    sums.entry(*column).or_default().add(Sums::of_value(value));
                }
            }
            request.after = listed.page.next;
            if request.after.is_none() {
                return Ok(Some(sums));
            }
        }
        Ok(None)
    }
}
