//! Values that go into statements and columns that come out of them, alike for both engines.
//!
//! This module must not know any table.

use std::borrow::Cow;

use model::{
    BackupState, Code, ColumnRole, Digest, Error, FaultState, Id, JobKind, JobState, NodeKind, PolicyLevel,
    ReclaimReason, ReclaimState, RecycleStage, RequestedState, Result, SearchAlert, StoreKind, StoreState, Theme,
    Timestamp, Versioning,
};

/// A bound parameter.
///
/// Text must not contain U+0000 and a number must not be NaN. One of the engines would refuse or change such a value,
/// so both refuse it as [`model::ErrorKind::Invalid`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit integer; also identifiers and times.
    Integer(i64),
    /// A double.
    Real(f64),
    /// A Boolean, stored as 0 or 1 by an engine without that type.
    Bool(bool),
    /// UTF-8 text.
    Text(Cow<'a, str>),
    /// Bytes; also digests.
    Bytes(Cow<'a, [u8]>),
    /// A set of integers for `column {in $n}`.
    Integers(Cow<'a, [i64]>),
}

impl Value<'_> {
    /// The kind of the value without its content, for messages and logs.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Integers(_) => "a set of integers",
        }
    }

    /// Converts into a value that owns its content.
    pub(crate) fn to_owned(&self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(v) => Value::Integer(*v),
            Self::Real(v) => Value::Real(*v),
            Self::Bool(v) => Value::Bool(*v),
            Self::Text(v) => Value::Text(Cow::Owned(v.as_ref().to_owned())),
            Self::Bytes(v) => Value::Bytes(Cow::Owned(v.as_ref().to_vec())),
            Self::Integers(v) => Value::Integers(Cow::Owned(v.as_ref().to_vec())),
        }
    }

    /// Refuses a value that only one of the two engines could store.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Text(text) if text.as_bytes().contains(&0) => {
                Err(Error::invalid("text must not contain the character U+0000").with_code(Code::InvalidText))
            }
            Self::Real(number) if number.is_nan() => {
                Err(Error::invalid("a stored number must not be NaN").with_code(Code::InvalidNumber))
            }
            _ => Ok(()),
        }
    }
}

/// Creates an array of [`Value`]s from anything that converts into one: `&params![id, &name, None::<i64>]`.
#[macro_export]
macro_rules! params {
    () => { [] as [$crate::Value<'static>; 0] };
    ($($value:expr),+ $(,)?) => { [$($crate::Value::from($value)),+] };
}

macro_rules! copied {
    ($($type:ty => $name:ident, $value:expr;)*) => {$(
        impl From<$type> for Value<'_> {
            fn from($name: $type) -> Self {
                $value
            }
        }
        impl From<&$type> for Value<'_> {
            fn from(value: &$type) -> Self {
                Self::from(*value)
            }
        }
        impl From<&Option<$type>> for Value<'_> {
            fn from(value: &Option<$type>) -> Self {
                Self::from(*value)
            }
        }
    )*};
}

copied! {
    i64 => v, Value::Integer(v);
    i32 => v, Value::Integer(i64::from(v));
    u32 => v, Value::Integer(i64::from(v));
    u16 => v, Value::Integer(i64::from(v));
    bool => v, Value::Bool(v);
    f64 => v, Value::Real(v);
    Id => v, Value::Integer(v.get());
    Timestamp => v, Value::Integer(v.micros());
    Digest => v, Value::Bytes(Cow::Owned(v.as_bytes().to_vec()));
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Value<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Cow::Owned(bytes))
    }
}

impl<'a> From<&'a [i64]> for Value<'a> {
    fn from(integers: &'a [i64]) -> Self {
        Self::Integers(Cow::Borrowed(integers))
    }
}

impl<'a> From<&'a Vec<i64>> for Value<'a> {
    fn from(integers: &'a Vec<i64>) -> Self {
        Self::Integers(Cow::Borrowed(integers))
    }
}

impl From<&[Id]> for Value<'_> {
    fn from(ids: &[Id]) -> Self {
        Self::Integers(ids.iter().map(|id| id.get()).collect())
    }
}

impl From<&Vec<Id>> for Value<'_> {
    fn from(ids: &Vec<Id>) -> Self {
        Self::from(ids.as_slice())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(value: &'a Option<String>) -> Self {
        Self::from(value.as_deref())
    }
}

/// The raw content of a result column, before its conversion to a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Column<'r> {
    /// SQL NULL.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// A Boolean, from an engine with that type.
    Bool(bool),
    /// UTF-8 text.
    Text(&'r str),
    /// Size in bytes.
    Bytes(&'r [u8]),
}

impl Column<'_> {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// A type that a column can be read as.
pub trait FromColumn<'r>: Sized {
    /// Name of the type in messages.
    const EXPECTED: &'static str;

    /// Set for a closed set of words. Messages then show a text that is none of them.
    const IS_WORD: bool = false;

    /// Reads the column; `None` if it holds another type.
    fn from_column(column: Column<'r>) -> Option<Self>;
}

macro_rules! from_column {
    ($($type:ty, $expected:literal, $($pattern:pat => $value:expr),+;)*) => {$(
        impl<'r> FromColumn<'r> for $type {
            const EXPECTED: &'static str = $expected;

            fn from_column(column: Column<'r>) -> Option<Self> {
                match column {
                    $($pattern => $value,)+
                    _ => None,
                }
            }
        }
    )*};
}

from_column! {
    i64, "an integer", Column::Integer(v) => Some(v);
    u32, "a small non-negative integer", Column::Integer(v) => u32::try_from(v).ok();
    f64, "a number", Column::Real(v) => Some(v);
    bool, "a boolean", Column::Bool(v) => Some(v), Column::Integer(0) => Some(false), Column::Integer(1) => Some(true);
    &'r str, "text", Column::Text(v) => Some(v);
    String, "text", Column::Text(v) => Some(v.to_owned());
    &'r [u8], "bytes", Column::Bytes(v) => Some(v);
    Vec<u8>, "bytes", Column::Bytes(v) => Some(v.to_vec());
    Id, "an identifier", Column::Integer(v) => Some(Id::new(v));
    Timestamp, "a time", Column::Integer(v) => Some(Timestamp::from_micros(v));
    Digest, "a digest of 32 bytes", Column::Bytes(v) => Digest::from_slice(v).ok();
}

/// Binds and reads closed sets of words, which are stored as text. An unknown word is not read.
macro_rules! words {
    ($($set:ty => $expected:expr;)*) => {
        copied! { $($set => word, Value::Text(Cow::Borrowed(word.as_str()));)* }

        $(
            impl FromColumn<'_> for $set {
                const EXPECTED: &'static str = $expected;
                const IS_WORD: bool = true;

                fn from_column(column: Column<'_>) -> Option<Self> {
                    match column {
                        Column::Text(word) => <$set>::parse(word).ok(),
                        _ => None,
                    }
                }
            }
        )*
    };
}

words! {
    BackupState => BackupState::SUBJECT;
    ColumnRole => ColumnRole::SUBJECT;
    FaultState => FaultState::SUBJECT;
    JobKind => JobKind::SUBJECT;
    JobState => JobState::SUBJECT;
    RequestedState => RequestedState::SUBJECT;
    NodeKind => NodeKind::SUBJECT;
    PolicyLevel => PolicyLevel::SUBJECT;
    ReclaimReason => ReclaimReason::SUBJECT;
    ReclaimState => ReclaimState::SUBJECT;
    RecycleStage => RecycleStage::SUBJECT;
    StoreKind => StoreKind::SUBJECT;
    StoreState => StoreState::SUBJECT;
    SearchAlert => SearchAlert::SUBJECT;
    Theme => Theme::SUBJECT;
    Versioning => "the versioning of a library";
}

impl<'r, T: FromColumn<'r>> FromColumn<'r> for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const IS_WORD: bool = T::IS_WORD;

    fn from_column(column: Column<'r>) -> Option<Self> {
        match column {
            Column::Null => Some(None),
            other => T::from_column(other).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_take_what_statements_need() {
        let name = String::from("a");
        let values = params![Id::new(7), &name, None::<i64>, true, &[1u8, 2][..], Some("x"), 3u32];
        assert_eq!(values[0], Value::Integer(7));
        assert_eq!(values[1], Value::Text("a".into()));
        assert_eq!(values[2], Value::Null);
        assert_eq!(values[5], Value::Text("x".into()));
        assert!(params![].is_empty());
    }

    #[test]
    fn what_one_engine_cannot_store_is_refused_for_both() {
        assert!(Value::from("a\0b").check().is_err());
        assert!(Value::from(f64::NAN).check().is_err());
        assert!(Value::from("a\u{1}b").check().is_ok());
        assert!(Value::from(f64::INFINITY).check().is_ok());
    }

    #[test]
    fn a_wrong_type_is_not_converted() {
        assert_eq!(bool::from_column(Column::Integer(2)), None);
        assert_eq!(i64::from_column(Column::Real(1.0)), None);
        assert_eq!(u32::from_column(Column::Integer(-1)), None);
        assert_eq!(String::from_column(Column::Null), None);
        assert_eq!(Option::<String>::from_column(Column::Null), Some(None));
        assert_eq!(Digest::from_column(Column::Bytes(&[0; 31])), None);
        assert_eq!(JobState::from_column(Column::Text("asleep")), None);
        assert_eq!(Option::<JobState>::from_column(Column::Text("asleep")), None);
    }
}
