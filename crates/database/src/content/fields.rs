//! The fields of an item as they are stored: a JSON object that maps the slots of columns to values.
//!
//! A text, note, choice or link is a JSON string; a number is a JSON number; a date is a JSON integer, its microseconds
//! since 1970; a Boolean is 0 or 1; a person or an entry of another list is a string, the decimal identifier. So the
//! position of a value among others follows from the fields alone, and not from the kind of its column.
//!
//! Several values are a JSON array of two or more of these. A single one of a column that takes several stands alone,
//! as it does in other columns: so the records stay as they are when a column takes several values from now on.

use std::collections::BTreeMap;
use std::fmt;

use model::{ColumnKind, ColumnValue, Error, Result, SortValue, Timestamp};
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// The fields of one item, by slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(BTreeMap<i64, Field>);

/// A stored value.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Integer(i64),
    Number(f64),
    Text(String),
    /// At least two values, none of them several itself.
    Multiple(Vec<Self>),
}

impl Field {
    /// Returns a value as it is stored; `None` for an empty list of values.
    fn of(value: &ColumnValue) -> Option<Self> {
        Some(match value {
            ColumnValue::Text(text) => Self::Text(text.clone()),
            ColumnValue::Number(number) => Self::Number(*number),
            ColumnValue::Date(time) => Self::Integer(time.micros()),
            ColumnValue::Person(id) | ColumnValue::Lookup(id) => Self::Text(id.to_string()),
            ColumnValue::YesNo(yes) => Self::Integer(i64::from(*yes)),
            ColumnValue::Multiple(values) => {
                let mut fields: Vec<Self> = values.iter().filter_map(Self::of).collect();
                if fields.len() > 1 { Self::Multiple(fields) } else { fields.pop()? }
            }
        })
    }

    /// Returns the form to store.
    fn stored(&self) -> Option<Value> {
        Some(match self {
            Self::Integer(integer) => Value::from(*integer),
            // No column takes a number that is not finite.
            Self::Number(number) => Value::Number(Number::from_f64(*number)?),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Multiple(fields) => Value::Array(fields.iter().filter_map(Self::stored).collect()),
        })
    }

    fn value(&self, kind: &ColumnKind) -> Option<ColumnValue> {
        Some(match (kind, self) {
            (ColumnKind::Number, Self::Number(number)) => ColumnValue::Number(*number),
            (ColumnKind::Number, Self::Integer(integer)) => ColumnValue::Number(*integer as f64),
            (ColumnKind::Date, Self::Integer(micros)) => ColumnValue::Date(Timestamp::from_micros(*micros)),
            (ColumnKind::YesNo, Self::Integer(yes)) => ColumnValue::YesNo(*yes != 0),
            (ColumnKind::Person, Self::Text(id)) => ColumnValue::Person(id.parse().ok()?),
            (ColumnKind::Lookup(_), Self::Text(id)) => ColumnValue::Lookup(id.parse().ok()?),
            (ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) | ColumnKind::Link, Self::Text(text)) => {
                ColumnValue::Text(text.clone())
            }
            (ColumnKind::Multiple(kind), field) => {
                ColumnValue::Multiple(field.each().iter().map(|field| field.value(kind)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    /// Returns each of several values, or the only one.
    fn each(&self) -> &[Self] {
        match self {
            Self::Multiple(fields) => fields,
            one => std::slice::from_ref(one),
        }
    }

    fn sort_value(&self) -> SortValue {
        match self {
            Self::Integer(integer) => SortValue::number(*integer as f64),
            Self::Number(number) => SortValue::number(*number),
            Self::Text(text) => SortValue::text(text),
            Self::Multiple(fields) => fields.first().map_or(SortValue::EMPTY, Self::sort_value),
        }
    }
}

/// Reads a field without a JSON value in between: pages of lists read hundreds of them.
struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or several of these")
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Field, E> {
        Ok(Field::Integer(integer))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Field, E> {
        Ok(i64::try_from(integer).map_or(Field::Number(integer as f64), Field::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Field, E> {
        Ok(Field::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Field, E> {
        Ok(Field::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Field, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = values.next_element()? {
            if matches!(field, Field::Multiple(_)) {
                return Err(A::Error::custom("several values in one of several"));
            }
            fields.push(field);
        }
        match fields.len() {
            0 | 1 => Err(A::Error::custom("fewer than two values")),
            _ => Ok(Field::Multiple(fields)),
        }
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

impl Fields {
    /// Reads stored fields.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn parse(stored: &str) -> Result<Self> {
        let fields = serde_json::from_str(stored);
        fields.map(Self).map_err(|_| Error::corrupt("a stored record is not an object of fields"))
    }

    /// Returns the text to store.
    pub(super) fn stored(&self) -> String {
        let fields = self.0.iter().filter_map(|(slot, field)| Some((slot.to_string(), field.stored()?)));
        Value::Object(fields.collect()).to_string()
    }

    /// Returns the value in the column with this slot and kind; `None` for an empty field.
    ///
    /// # Errors
    /// `Corrupt` for a field that the column cannot have.
    pub fn get(&self, slot: i64, kind: &ColumnKind) -> Result<Option<ColumnValue>> {
        let Some(field) = self.0.get(&slot) else { return Ok(None) };
        let value = field.value(kind);
        value.map(Some).ok_or_else(|| Error::corrupt(format!("a stored field is no {} value", kind.as_str())))
    }

    /// Sets or empties the field of a column.
    pub fn set(&mut self, slot: i64, value: Option<&ColumnValue>) {
        match value.and_then(Field::of) {
            Some(field) => self.0.insert(slot, field),
            None => self.0.remove(&slot),
        };
    }

    /// Returns whether the field with this slot is another one in other fields.
    pub fn differs_from(&self, other: &Self, slot: i64) -> bool {
        self.0.get(&slot) != other.0.get(&slot)
    }

    /// Returns whether the field with this slot has a value.
    pub fn has(&self, slot: i64) -> bool {
        self.0.contains_key(&slot)
    }

    /// The bytes of the text to store.
    pub fn stored_bytes(&self) -> usize {
        self.stored().len()
    }

    /// Returns whether all fields are empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The slots of all fields that are not empty.
    pub(super) fn slots(&self) -> Vec<i64> {
        self.0.keys().copied().collect()
    }

    /// The position of the field with this slot, by its first value; `None` for an empty one.
    pub fn sort_value(&self, slot: i64) -> Option<SortValue> {
        self.0.get(&slot).map(Field::sort_value)
    }

    /// The positions of all values but the first in the field with this slot, each of them once.
    pub(super) fn further_sort_values(&self, slot: i64) -> Vec<SortValue> {
        let Some(Field::Multiple(fields)) = self.0.get(&slot) else { return Vec::new() };
        let mut values: Vec<SortValue> = Vec::with_capacity(fields.len());
        for value in fields.iter().skip(1).map(Field::sort_value) {
            // Different choices can have the same position.
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// Keeps the fields of these slots only.
    pub fn retain(&mut self, slots: &[i64]) {
        self.0.retain(|slot, _| slots.contains(slot));
    }
}

#[cfg(test)]
mod tests {
    use model::Id;

    use super::*;

    #[test]
    fn stored_fields_read_back() {
        let values = [
            (1, ColumnKind::Text, ColumnValue::Text("a \"b\" \u{1f}".into())),
            (2, ColumnKind::Number, ColumnValue::Number(0.1)),
            (3, ColumnKind::Number, ColumnValue::Number(-3.0)),
            (4, ColumnKind::Number, ColumnValue::Number(1.7e308)),
            (5, ColumnKind::Date, ColumnValue::Date(Timestamp::from_micros(253_402_300_799_999_999))),
            (6, ColumnKind::Person, ColumnValue::Person(Id::new(i64::MAX))),
            (9, ColumnKind::Lookup(Id::new(5)), ColumnValue::Lookup(Id::new(i64::MAX))),
            (
                10,
                ColumnKind::Multiple(Box::new(ColumnKind::Lookup(Id::new(5)))),
                ColumnValue::Multiple([9, 3, 4].map(|id| ColumnValue::Lookup(Id::new(id))).into()),
            ),
            (7, ColumnKind::YesNo, ColumnValue::YesNo(true)),
            (1_000_000, ColumnKind::Note, ColumnValue::Text("n\n".repeat(9))),
        ];
        let mut fields = Fields::default();
        for (slot, _, value) in &values {
            fields.set(*slot, Some(value));
        }
        let read = Fields::parse(&fields.stored()).unwrap();
        for (slot, kind, value) in &values {
            assert_eq!(read.get(*slot, kind).unwrap().as_ref(), Some(value));
            assert_eq!(read.sort_value(*slot).unwrap(), value.sort_value(), "{value:?}");
        }
        assert_eq!(read.get(8, &ColumnKind::Text).unwrap(), None);
        fields.set(1, None);
        assert_eq!(fields.get(1, &ColumnKind::Text).unwrap(), None);
    }

    #[test]
    fn damaged_fields_are_refused() {
        for bad in ["", "[]", "{\"x\": 1}", "{\"1\": null}", "{\"1\": {}}", "{\"1\": true}"] {
            assert_eq!(Fields::parse(bad).unwrap_err().kind(), model::ErrorKind::Corrupt, "{bad}");
        }
        for bad in ["[]", "[1]", "[null, 1]", "[[1, 2], 3]", "[{}, 1]"] {
            assert!(Fields::parse(&format!("{{\"1\": {bad}}}")).is_err(), "{bad}");
        }
        let text = Fields::parse("{\"1\": \"x\"}").unwrap();
        assert!(text.get(1, &ColumnKind::Number).is_err());
        assert!(text.get(1, &ColumnKind::Person).is_err());
        let several = Fields::parse("{\"1\": [\"7\", \"x\"]}").unwrap();
        assert!(several.get(1, &ColumnKind::Text).is_err());
        assert!(several.get(1, &ColumnKind::Multiple(Box::new(ColumnKind::Person))).is_err());
    }

    #[test]
    fn a_single_value_is_stored_alike_for_both_sorts_of_columns() {
        let (kind, person) = (ColumnKind::Multiple(Box::new(ColumnKind::Person)), ColumnValue::Person(Id::new(7)));
        let (mut one, mut list) = (Fields::default(), Fields::default());
        one.set(1, Some(&person));
        list.set(1, Some(&ColumnValue::Multiple(vec![person.clone()])));
        assert_eq!(one, list);
        assert_eq!(one.get(1, &kind).unwrap(), Some(ColumnValue::Multiple(vec![person.clone()])));
        assert_eq!(one.get(1, &ColumnKind::Person).unwrap(), Some(person));
        assert_eq!(one.further_sort_values(1), []);
        list.set(1, Some(&ColumnValue::Multiple(Vec::new())));
        assert!(!list.has(1));
    }

    /// The form is stored in databases and must never change.
    #[test]
    fn the_stored_form_stays() {
        let mut fields = Fields::default();
        fields.set(12, Some(&ColumnValue::Text("Anna".into())));
        fields.set(3, Some(&ColumnValue::Number(2.5)));
        fields.set(4, Some(&ColumnValue::Date(Timestamp::from_micros(1_763_500_000_000_000))));
        fields.set(5, Some(&ColumnValue::Person(Id::new(77))));
        fields.set(6, Some(&ColumnValue::YesNo(false)));
        fields.set(7, Some(&ColumnValue::Lookup(Id::new(78))));
        let several = ["b", "a"].map(|text| ColumnValue::Text(text.into()));
        fields.set(8, Some(&ColumnValue::Multiple(several.into())));
        let stored =
            concat!(r#"{"12":"Anna","3":2.5,"4":1763500000000000,"5":"77","6":0,"7":"78","#, r#""8":["b","a"]}"#);
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&fields.stored()), value(stored));
        assert_eq!(Fields::parse(stored).unwrap(), fields);
    }
}
