//! Which documents of a library somebody wants to see.

use std::collections::HashMap;

use database::Reader;
use database::content::column;
use database::content::node::NodeRow;
use database::content::sorted::{MOST_PARTS, Sieve};
use model::{ColumnValue, Id, Result, Timestamp, fold};

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueTest {
    /// A text that contains this one, compared as names are.
    Contains(String),
    /// Exactly this.
    Is(ColumnValue),
    /// A number from the first to the second.
    Between(f64, f64),
    /// A time from the first up to but without the second.
    During(Timestamp, Timestamp),
}

impl ValueTest {
    fn passes(&self, value: &ColumnValue) -> bool {
        match (self, value) {
            (Self::Contains(part), ColumnValue::Text(text)) => fold(text).contains(&fold(part)),
            (Self::Is(wanted), value) => wanted == value,
            (Self::Between(low, high), ColumnValue::Number(number)) => low <= number && number <= high,
            (Self::During(since, until), ColumnValue::Date(time)) => since <= time && time < until,
            _ => false,
        }
    }
}

/// Which documents are wanted; what is not set leaves nothing out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Words that the name must contain, compared as names are.
    pub name: String,
    /// Who changed it last.
    pub person: Option<Id>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Changed at this time or later.
    pub since: Option<Timestamp>,
    /// Changed before this time.
    pub until: Option<Timestamp>,
    /// What must stand in columns.
    pub values: Vec<(Id, ValueTest)>,
}

impl Filter {
    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether folders can pass: they have a name, and nothing else that is asked for.
    pub(super) fn asks_for_names_only(&self) -> bool {
        Self { name: String::new(), ..self.clone() }.is_empty()
    }

    /// Whether a folded name has all words.
    pub(super) fn fits_name(&self, folded: &str) -> bool {
        fold(&self.name).split_whitespace().all(|word| folded.contains(word))
    }

    /// What the database leaves out while it walks.
    pub(super) fn sieve(&self) -> Sieve {
        let mut sieve = Sieve::default();
        let folded = fold(&self.name);
        let mut words: Vec<&str> = folded.split_whitespace().collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        for (part, word) in sieve.parts.iter_mut().zip(words.into_iter().take(MOST_PARTS)) {
            *part = word.to_owned();
        }
        sieve.person = self.person.unwrap_or(Id::NONE);
        sieve.media_type = self.media_type.clone().unwrap_or_default();
        sieve.since = self.since.unwrap_or(sieve.since);
        sieve.until = self.until.unwrap_or(sieve.until);
        sieve
    }

    /// Of each row, whether it passes what the database did not look at.
    pub(super) fn judge(&self, reader: &mut Reader<'_>, library: Id, rows: &[NodeRow]) -> Result<Vec<bool>> {
        let names = |row: &NodeRow| self.name.is_empty() || self.fits_name(&row.folded);
        if self.values.is_empty() || rows.is_empty() {
            return Ok(rows.iter().map(names).collect());
        }
        let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
        let values = column::values_of_many(reader, &ids, library)?;
        let values: HashMap<(Id, Id), ColumnValue> =
            values.into_iter().map(|(item, column, value)| ((item, column), value)).collect();
        let passes = |row: &NodeRow| {
            names(row)
                && self
                    .values
                    .iter()
                    .all(|(column, test)| values.get(&(row.id, *column)).is_some_and(|value| test.passes(value)))
        };
        Ok(rows.iter().map(passes).collect())
    }
}
