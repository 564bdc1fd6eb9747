//! Filter for the documents of a library.

use std::collections::{HashMap, HashSet};

use database::Reader;

use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::NodeRow;
use database::content::record;
use database::content::sorted::{MAX_PARTS, RowFilter};
use model::{ColumnValue, Error, Id, Result, Timestamp, fold};

use super::condition::Condition;

/// Test that a column value must pass.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueTest {
    /// A text that contains this one, with case folded as in names.
    Contains(String),
    /// Exactly this value.
    Is(ColumnValue),
    /// A number in this closed range.
    Between(f64, f64),
    /// A time in this half-open range: from the first, up to but excluding the second.
    During(Timestamp, Timestamp),
}

impl ValueTest {
    /// Returns whether a single value passes. `folded` is a text with case folded as in names, and empty
    /// for other values.
    fn passes(&self, value: &ColumnValue, folded: &str) -> bool {
        match (self, value) {
            (Self::Contains(part), ColumnValue::Text(_)) => folded.contains(&fold(part)),
            (Self::Is(wanted), value) => wanted == value,
            (Self::Between(low, high), ColumnValue::Number(number)) => low <= number && number <= high,
            (Self::During(since, until), ColumnValue::Date(time)) => since <= time && time < until,
            _ => false,
        }
    }
}

/// Conditions that documents must meet. An unset condition excludes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Words that the name must contain, with case folded as in names.
    pub name: String,
    /// The user who last changed it.
    pub person: Option<Id>,
    /// Media type.
    pub media_type: Option<String>,
    /// Only documents changed at this time or later.
    pub since: Option<Timestamp>,
    /// Only documents changed before this time.
    pub until: Option<Timestamp>,
    /// Tests on values of columns.
    pub values: Vec<(Id, ValueTest)>,
    /// Formula that must give "yes" for an item; empty for none. Its columns are named, or stand by identifier.
    pub condition: String,
}

impl Filter {
    /// Returns whether the filter excludes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether folders can pass: of all the conditions, folders can meet only the one on the name.
    pub(super) fn asks_for_names_only(&self) -> bool {
        Self { name: String::new(), ..self.clone() }.is_empty()
    }

    /// Returns whether a folded name contains all words.
    pub(super) fn fits_name(&self, folded: &str) -> bool {
        fold(&self.name).split_whitespace().all(|word| folded.contains(word))
    }

    /// Returns the conditions that the database applies during the walk.
    pub(super) fn sieve(&self) -> RowFilter {
        let mut sieve = RowFilter::default();
        let folded = fold(&self.name);
        let mut words: Vec<&str> = folded.split_whitespace().collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        for (part, word) in sieve.parts.iter_mut().zip(words.into_iter().take(MAX_PARTS)) {
            *part = word.to_owned();
        }
        sieve.person = self.person.unwrap_or(Id::NONE);
        sieve.media_type = self.media_type.clone().unwrap_or_default();
        sieve.since = self.since.unwrap_or(sieve.since);
        sieve.until = self.until.unwrap_or(sieve.until);
        sieve
    }

    /// Returns whether a row meets all conditions except those on columns.
    pub(super) fn fits_row(&self, row: &NodeRow) -> bool {
        (self.name.is_empty() || self.fits_name(&row.folded))
            && self.person.is_none_or(|person| row.modified_by == person)
            && self.media_type.as_ref().is_none_or(|wanted| row.media_type == *wanted)
            && self.since.is_none_or(|since| row.modified_at >= since)
            && self.until.is_none_or(|until| row.modified_at < until)
    }

    /// Returns whether there are conditions on values of columns.
    pub(super) fn asks_for_values(&self) -> bool {
        !self.values.is_empty() || !self.condition.is_empty()
    }

    /// Returns whether the fields of an item pass the tests on values of columns.
    pub(super) fn fits_values(&self, columns: &[ColumnRow], content_type: Option<Id>, fields: &Fields) -> Result<bool> {
        // Several tests of one column stand one after the other. Its values are folded once. One of several that passes
        // is enough.
        let mut known: Option<(Id, Vec<(ColumnValue, String)>)> = None;
        for (id, test) in &self.values {
            if known.as_ref().is_none_or(|(column, _)| column != id) {
                let column = columns.iter().find(|column| column.id == *id && column.is_for(content_type));
                let value = match column {
                    Some(column) => fields.get(column.slot, &column.kind)?,
                    None => None,
                };
                let Some(value) = value else { return Ok(false) };
                let folded = |value: ColumnValue| {
                    let folded = if let ColumnValue::Text(text) = &value { fold(text) } else { String::new() };
                    (value, folded)
                };
                known = Some((*id, value.into_each().into_iter().map(folded).collect()));
            }
            let passes = |(value, folded): &(ColumnValue, String)| test.passes(value, folded);
            if !known.as_ref().is_some_and(|(_, values)| values.iter().any(passes)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns, for each row, whether it passes the conditions that the database does not apply.
    pub(super) fn evaluate(
        &self,
        reader: &mut Reader<'_>,
        library: Id,
        caller: Id,
        rows: &[NodeRow],
    ) -> Result<Vec<bool>> {
        let names = |row: &NodeRow| self.name.is_empty() || self.fits_name(&row.folded);
        if !self.asks_for_values() || rows.is_empty() {
            return Ok(rows.iter().map(names).collect());
        }
        let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
        let columns = column::list(reader, library)?;
        let condition = Condition::read(&self.condition, &columns, caller)?;
        let types: HashMap<Id, Option<Id>> = rows.iter().map(|row| (row.id, row.content_type_id)).collect();
        let fits = |content_type: Option<Id>, fields: &Fields| {
            let met = condition.as_ref().is_none_or(|condition| condition.is_met(&columns, content_type, fields));
            Ok::<_, Error>(met && self.fits_values(&columns, content_type, fields)?)
        };
        // An item without a record has no values.
        let without = fits(None, &Fields::default())?;
        let mut fit: HashSet<Id> = if without { ids.iter().copied().collect() } else { HashSet::new() };
        record::for_each(reader, &ids, |id, fields| {
            if fits(types.get(&id).copied().flatten(), fields)? {
                fit.insert(id);
            } else {
                fit.remove(&id);
            }
            Ok(())
        })?;
        Ok(rows.iter().map(|row| names(row) && fit.contains(&row.id)).collect())
    }
}
