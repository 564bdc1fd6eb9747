//! Search queries: words, phrases, operators and filters that a person types.

mod dates;
mod expression;
mod lex;
mod parse;
mod remark;
mod search_query;
mod sizes;
mod types;
mod word_matcher;

pub use expression::{Expression, Filter, Position, QueryWord, Reference, ReferenceKind, Sought, Within, WordField};
pub use parse::{MAX_QUERY_BYTES, MAX_WORDS};
pub use remark::{Remark, RemarkReason};
pub use search_query::SearchQuery;
pub use word_matcher::WordMatcher;

#[cfg(test)]
mod tests;
