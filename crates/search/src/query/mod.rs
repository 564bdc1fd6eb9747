//! Search queries: words, phrases, operators and filters that a person types.

mod column_condition;
mod dates;
mod expression;
mod fields;
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

pub(crate) use column_condition::value_key;
pub use column_condition::{ColumnCondition, ColumnKinds, KnownColumns, ValueCondition, ValuesFilter, number_key};
pub use expression::{
    CheckOuts, Expression, Filter, Position, Reference, ReferenceKind, Sought, Status, Within, WordField,
};
pub use outline::{FilterPart, LastWord};
pub use query_word::QueryWord;
pub use remark::{Remark, RemarkReason};
pub use search_query::SearchQuery;
pub use tolerance::Tolerance;
pub use word_matcher::WordMatcher;

#[cfg(test)]
mod tests;
