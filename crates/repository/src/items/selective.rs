//! Pages of a listing with a condition on a column that few items meet: these are found by the index of the column,
//! then tested and sorted here. A walk in the order of the listing would go through all the others.

use std::cmp::Ordering;
use std::collections::HashMap;

use database::Reader;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::{record, sorted};
use model::{ColumnValue, Id, NodeKind, Result, SortValue, fold};

use crate::items::item::Item;
use crate::items::page::Page;
use crate::session::locate::Located;

use super::condition::Condition;
use super::filter::{Filter, ValueTest};
use super::order::{ListRequest, Order, Sort, SortKey};

/// Limit on the items that are read and sorted for one page.
const MOST: usize = 2_000;
/// The same where a formula is evaluated for each item.
const MOST_WITH_CONDITION: usize = 200;

/// Returns the page of a listing, if one of the conditions leaves few enough items.
pub(super) fn page(
    reader: &mut Reader<'_>,
    located: &Located,
    request: &ListRequest,
    order: &Order,
    path: &str,
    limit: usize,
) -> Result<Option<Page<Item, SortKey>>> {
    let filter = &request.filter;
    if filter.values.is_empty() {
        return Ok(None);
    }
    let columns = column::list(reader, located.node().library_id)?;
    let Some(ids) = fewest(reader, located.node().id, &columns, filter)? else { return Ok(None) };
    let condition = Condition::read(&filter.condition, &columns, located.principal.id)?;
    if condition.is_some() && ids.len() > MOST_WITH_CONDITION {
        return Ok(None);
    }
    let mut rows = node::find_many(reader, &ids)?;
    rows.retain(|row| {
        row.kind.is_leaf() && row.parent_id == located.node().id && located.lists(row) && filter.fits_row(row)
    });
    let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
    let by_id: HashMap<Id, &NodeRow> = rows.iter().map(|row| (row.id, row)).collect();
    let positions = Positions { kind: located.node().kind, request, order };
    let mut found = Vec::new();
    // An item without a record has no values, and meets no condition on them.
    record::for_each(reader, &ids, |id, fields| {
        if let Some(row) = by_id.get(&id)
            && filter.fits_values(&columns, row.content_type_id, fields)?
            && condition.as_ref().is_none_or(|condition| condition.is_met(&columns, row.content_type_id, fields))
        {
            found.push((positions.key(row, fields), *row));
        }
        Ok(())
    })?;
    found.sort_by(|(a, _), (b, _)| positions.compare(a, b));
    let begin = match &request.after {
        Some(after) => found.partition_point(|(key, _)| positions.compare(key, after) != Ordering::Greater),
        None => 0,
    };
    let shown = &found[begin..found.len().min(begin + limit)];
    let next = shown.last().filter(|_| begin + limit < found.len()).map(|(key, _)| key.clone());
    let items = shown.iter().map(|(_, row)| located.child(reader, row, path)).collect::<Result<_>>()?;
    Ok(Some(Page { items, next }))
}

/// Returns the items that meet the condition which the fewest meet; `None` if all conditions leave too many, or can not
/// be looked up.
fn fewest(reader: &mut Reader<'_>, parent: Id, columns: &[ColumnRow], filter: &Filter) -> Result<Option<Vec<Id>>> {
    let mut best: Option<Vec<Id>> = None;
    let (parts, ranges): (Vec<_>, Vec<_>) =
        filter.values.iter().partition(|(_, test)| matches!(test, ValueTest::Contains(_)));
    let mut look = |best: &mut Option<Vec<Id>>, (id, test): &(Id, ValueTest)| -> Result<()> {
        let Some(column) = columns.iter().find(|column| column.id == *id) else { return Ok(()) };
        let limit = best.as_ref().map_or(MOST + 1, Vec::len);
        let Some(mut found) = candidates(reader, (parent, column.slot), test, limit)? else { return Ok(()) };
        if column.kind.takes_multiple() && found.len() < limit {
            // There are the values after the first.
            let Some(others) = candidates(reader, (parent, record::further_slot(column.slot)), test, limit)? else {
                return Ok(());
            };
            found.extend(others);
            found.sort_unstable();
            found.dedup();
        }
        if found.len() < limit {
            *best = Some(found);
        }
        Ok(())
    };
    for range in ranges {
        look(&mut best, range)?;
    }
    // Looking for a part of a text goes through all entries of the column, so it comes last, only if it must, and once.
    if best.is_none()
        && let Some(longest) = parts.into_iter().max_by_key(|(_, test)| length_of_part(test))
    {
        look(&mut best, longest)?;
    }
    Ok(best)
}

fn length_of_part(test: &ValueTest) -> usize {
    if let ValueTest::Contains(part) = test { part.len() } else { 0 }
}

/// Returns items whose value in a column may pass a test, among them all that do, at most `limit`; `None` if the index
/// of the column cannot tell.
fn candidates(
    reader: &mut Reader<'_>,
    (parent, slot): (Id, i64),
    test: &ValueTest,
    limit: usize,
) -> Result<Option<Vec<Id>>> {
    if let ValueTest::Contains(part) = test {
        let part = fold(part);
        // Entries have no control characters.
        if part.is_empty() || part.chars().any(char::is_control) {
            return Ok(None);
        }
        return sorted::containing(reader, parent, slot, &part, limit).map(Some);
    }
    let Some((from, to)) = range(test) else { return Ok(None) };
    sorted::matching(reader, parent, slot, &from, &to, limit).map(Some)
}

/// Returns the positions between which a column has all values that pass a test.
fn range(test: &ValueTest) -> Option<(SortValue, SortValue)> {
    Some(match test {
        ValueTest::Is(value) => (value.sort_value(), value.sort_value()),
        ValueTest::Between(low, high) => (SortValue::number(*low), SortValue::number(*high)),
        ValueTest::During(since, until) => {
            let of = |time| ColumnValue::Date(time).sort_value();
            (of(*since), of(*until))
        }
        ValueTest::Contains(_) => return None,
    })
}

/// The order of a listing as a comparison of positions.
struct Positions<'a> {
    kind: NodeKind,
    request: &'a ListRequest,
    order: &'a Order,
}

impl Positions<'_> {
    /// Returns the position of a row.
    fn key(&self, row: &NodeRow, fields: &Fields) -> SortKey {
        let value = |slot: i64| fields.sort_value(slot);
        let empty = || match self.kind {
            NodeKind::List => SortKey::Empty(row.id),
            _ => SortKey::Absent(row.folded.clone()),
        };
        match (self.order, self.request.sort) {
            (Order::Field(slot), _) => value(*slot).map_or_else(empty, |value| SortKey::Field(value, row.id)),
            (Order::Named(slot, _), _) => {
                let person = value(*slot).and_then(|value| value.text.parse().ok());
                person.map_or_else(empty, |person| SortKey::Named(person, row.id))
            }
            (Order::People(_), _) => SortKey::Person(row.modified_by, row.folded.clone()),
            (Order::Types(_), _) => SortKey::Type(row.media_type.clone(), row.folded.clone()),
            (Order::Plain, Sort::Modified) => SortKey::Modified(row.modified_at, row.id),
            (Order::Plain, Sort::Size) => SortKey::Size(row.size, row.id),
            (Order::Plain, _) if self.kind == NodeKind::List => SortKey::Row(row.id),
            (Order::Plain, _) => SortKey::Name(row.folded.clone()),
        }
    }

    fn compare(&self, a: &SortKey, b: &SortKey) -> Ordering {
        let (stage, other) = (stage(a), stage(b));
        if stage != other {
            return stage.cmp(&other);
        }
        let turned = |order: Ordering| if self.request.descending { order.reverse() } else { order };
        match (a, b) {
            (SortKey::Empty(a), SortKey::Empty(b)) => a.cmp(b),
            (SortKey::Absent(a), SortKey::Absent(b)) => a.cmp(b),
            (SortKey::Named(a, id), SortKey::Named(b, other)) => {
                turned(self.group(*a).cmp(&self.group(*b))).then(id.cmp(other))
            }
            (SortKey::Person(a, name), SortKey::Person(b, other)) => {
                turned(self.group(*a).cmp(&self.group(*b)).then(name.cmp(other)))
            }
            (SortKey::Type(a, name), SortKey::Type(b, other)) => {
                turned(self.group_of_type(a).cmp(&self.group_of_type(b)).then(name.cmp(other)))
            }
            (SortKey::Field(a, id), SortKey::Field(b, other)) => {
                turned(a.number.total_cmp(&b.number).then_with(|| a.text.cmp(&b.text)).then(id.cmp(other)))
            }
            (SortKey::Row(a), SortKey::Row(b)) => turned(a.cmp(b)),
            (SortKey::Name(a), SortKey::Name(b)) => turned(a.cmp(b)),
            (SortKey::Modified(a, id), SortKey::Modified(b, other)) => turned(a.cmp(b).then(id.cmp(other))),
            (SortKey::Size(a, id), SortKey::Size(b, other)) => turned(a.cmp(b).then(id.cmp(other))),
            // A cursor of another order.
            _ => Ordering::Less,
        }
    }

    fn group(&self, person: Id) -> Option<usize> {
        match self.order {
            Order::People(people) | Order::Named(_, people) => people.iter().position(|known| *known == person),
            _ => None,
        }
    }

    fn group_of_type(&self, media_type: &str) -> Option<usize> {
        match self.order {
            Order::Types(types) => types.iter().position(|known| known == media_type),
            _ => None,
        }
    }
}

/// Items without a value come after all others, in both directions.
fn stage(key: &SortKey) -> u8 {
    u8::from(matches!(key, SortKey::Empty(_) | SortKey::Absent(_)))
}
