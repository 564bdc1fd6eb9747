//! What all protocols share about content: how it is received and sent, under which conditions, in archives, and in
//! lists page by page. Must not know a route, nor how a protocol writes its answers.

pub mod bundle;
pub mod conditions;
pub mod content;
pub mod listing_cursor;
pub mod query;
pub mod receive;
pub mod send;
