//! Handling of connections and requests, whatever their route: listening, limits, trust in proxies, the log line, and
//! the state that all handlers share. Serves a finished router; must not know a route or a protocol.

pub mod admission;
pub mod client;
pub mod connection;
pub mod crowd;
pub mod edge;
pub mod error;
pub mod fair_sending;
pub mod intake;
mod listen;
pub mod options;
pub mod request;
pub mod secure;
mod sending;
pub mod state;
pub mod trust;
mod unread;

pub use listen::{bind, run};
pub use options::{Limits, Options, TlsFiles};
