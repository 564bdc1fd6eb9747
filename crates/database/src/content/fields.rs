//! The fields of an item as they are stored: a JSON object that maps the slots of columns to values.
//!
//! A text, note, choice or link is a JSON string; a number is a JSON number; a date is a JSON integer, its microseconds
//! since 1970; a Boolean is 0 or 1; a person or an entry of another list is a string, the decimal identifier. So the
//! position of a value among others follows from the fields alone, and not from the kind of its column.

use std::collections::BTreeMap;

use model::{ColumnKind, ColumnValue, Error, Result, SortValue, Timestamp};
use serde_json::{Map, Number, Value};

/// The fields of one item, by slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(BTreeMap<i64, Field>);

/// A stored value.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Integer(i64),
    Number(f64),
    Text(String),
}

impl Field {
    fn of(value: &ColumnValue) -> Self {
        match value {
            ColumnValue::Text(text) => Self::Text(text.clone()),
            ColumnValue::Number(number) => Self::Number(*number),
            ColumnValue::Date(time) => Self::Integer(time.micros()),
            ColumnValue::Person(id) | ColumnValue::Lookup(id) => Self::Text(id.to_string()),
            ColumnValue::YesNo(yes) => Self::Integer(i64::from(*yes)),
        }
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
            _ => return None,
        })
    }

    fn sort_value(&self) -> SortValue {
        match self {
            Self::Integer(integer) => SortValue::number(*integer as f64),
            Self::Number(number) => SortValue::number(*number),
            Self::Text(text) => SortValue::text(text),
        }
    }
}

impl Fields {
    /// Reads stored fields.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn parse(stored: &str) -> Result<Self> {
        let bad = || Error::corrupt("a stored record is not an object of fields");
        let object: Map<String, Value> = serde_json::from_str(stored).map_err(|_| bad())?;
        let fields = object.into_iter().map(|(slot, value)| {
            let field = match value {
                Value::String(text) => Field::Text(text),
                Value::Number(number) => match number.as_i64() {
                    Some(integer) => Field::Integer(integer),
                    None => Field::Number(number.as_f64().ok_or_else(bad)?),
                },
                _ => return Err(bad()),
            };
            Ok((slot.parse().map_err(|_| bad())?, field))
        });
        Ok(Self(fields.collect::<Result<_>>()?))
    }

    /// Returns the text to store.
    pub(super) fn stored(&self) -> String {
        let fields = self.0.iter().filter_map(|(slot, field)| {
            let value = match field {
                Field::Integer(integer) => Value::from(*integer),
                // No column takes a number that is not finite.
                Field::Number(number) => Value::Number(Number::from_f64(*number)?),
                Field::Text(text) => Value::from(text.as_str()),
            };
            Some((slot.to_string(), value))
        });
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
        match value {
            Some(value) => self.0.insert(slot, Field::of(value)),
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

    /// The position of the field with this slot; `None` for an empty one.
    pub fn sort_value(&self, slot: i64) -> Option<SortValue> {
        self.0.get(&slot).map(Field::sort_value)
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
        for bad in ["", "[]", "{\"x\": 1}", "{\"1\": null}", "{\"1\": {}}", "{\"1\": [1]}", "{\"1\": true}"] {
            assert_eq!(Fields::parse(bad).unwrap_err().kind(), model::ErrorKind::Corrupt, "{bad}");
        }
        let text = Fields::parse("{\"1\": \"x\"}").unwrap();
        assert!(text.get(1, &ColumnKind::Number).is_err());
        assert!(text.get(1, &ColumnKind::Person).is_err());
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
        let stored = "{\"12\":\"Anna\",\"3\":2.5,\"4\":1763500000000000,\"5\":\"77\",\"6\":0,\"7\":\"78\"}";
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&fields.stored()), value(stored));
        assert_eq!(Fields::parse(stored).unwrap(), fields);
    }
}
