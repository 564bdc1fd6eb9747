//! Words: how a text is cut into the words that the index holds. Queries and passages are cut by the same rules.

pub mod words;
