//! Handling of connections and requests, whatever their route: listening, limits, trust in proxies, the log line, and
//! the state that all handlers share. Serves a finished router; must not know a route or a protocol.

pub mod admission;
pub mod concurrency;
pub mod connection;
pub mod edge;
pub mod error;
pub mod fair_sending;
mod listen;
pub mod options;
pub mod origin;
pub mod request;
pub mod request_body;
pub mod secure;
mod sending;
pub mod state;
pub mod trust;
mod unread_body;

pub use listen::{bind, run};
pub use options::{Limits, Options, TlsFiles};
