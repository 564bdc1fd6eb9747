//! Search queries: words, phrases, operators and filters that a person types.

mod dates;
mod expression;
mod fields;
mod filter_values;
mod known_columns;
mod lex;
mod limits;
mod parse;
mod parse_columns;
mod parse_fields;
mod parse_words;
mod query_text;
mod query_word;
mod remark;
mod search_query;
mod sizes;
mod tolerance;
mod types;
mod value_keys;
mod word_matcher;

pub use expression::{ColumnCondition, Expression, Filter, Sought, ValueCondition, ValuesFilter, WordField};
pub use filter_values::{CheckOuts, Position, Reference, ReferenceKind, SeenVersions, Status, Within};
pub use known_columns::{ColumnKinds, KnownColumns};
pub use query_text::{FilterPart, LastWord};
pub use query_word::QueryWord;
pub use remark::{Remark, RemarkReason};
pub use search_query::SearchQuery;
pub use tolerance::Tolerance;
pub use value_keys::number_key;
pub(crate) use value_keys::value_key;
pub use word_matcher::WordMatcher;

#[cfg(test)]
mod tests;
