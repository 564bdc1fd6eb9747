//! Words: how a text is cut into the words that the index holds, and the forms under which a word is found. Texts,
//! queries and passages are treated by the same rules.

pub mod similar;
pub mod stems;
pub mod words;
