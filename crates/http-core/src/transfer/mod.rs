//! Content transfer shared by all protocols: receiving, sending, preconditions, archives, and paged listings. Must not
//! know a route, nor the response format of a protocol.

pub mod bundle;
pub mod conditions;
pub mod content;
pub mod image;
pub mod listing_cursor;
pub mod query;
pub mod receive;
pub mod rows_csv;
pub mod rows_xlsx;
pub mod send;
pub mod typed;
pub mod value_list;
