//! HTTP building blocks that all protocols share: pure functions that parse and format header fields. No I/O, no
//! routes, no knowledge of the content that is served.

pub mod conditional;
pub mod content_digest;
pub mod content_type;
pub mod credentials;
pub mod cursor;
pub mod disposition;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod idempotency;
pub mod range;
pub mod segments;
pub mod time;
pub mod tus;
pub mod zip;
