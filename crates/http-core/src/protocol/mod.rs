//! The pieces of HTTP that all protocols share: pure functions from header fields to meaning and back. No I/O, no
//! routes, no knowledge of what is served.

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
