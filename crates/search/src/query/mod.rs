//! Search queries: words, phrases, operators and filters that a person types.

mod dates;
mod expression;
mod fields;
mod known_columns;
mod lex;
mod outline;
mod parse;
mod parse_columns;
mod query_word;
mod remark;
mod search_query;
mod sizes;
mod tolerance;
mod types;
mod word_matcher;

pub use expression::{
    CheckOuts, ColumnCondition, Expression, Filter, Position, Reference, ReferenceKind, SeenVersions, Sought, Status,
    ValueCondition, ValuesFilter, Within, WordField,
};
pub(crate) use known_columns::value_key;
pub use known_columns::{ColumnKinds, KnownColumns, number_key};
pub use outline::{FilterPart, LastWord};
pub use query_word::QueryWord;
pub use remark::{Remark, RemarkReason};
pub use search_query::SearchQuery;
pub use tolerance::Tolerance;
pub use word_matcher::WordMatcher;

#[cfg(test)]
mod tests;
