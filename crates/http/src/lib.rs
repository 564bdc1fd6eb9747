//! The edge: the only room that speaks HTTP.
//!
//! It owns the server, the routes, the protocols and the pages; it alone knows axum. It must not know SQL, BLOB stores
//! or the search index, and it decides no permission: every handler asks a `Session` of the repository.
//!
//! REST, WebDAV and the pages share `server`, `identity`, `transfer`, `protocol`, `figures` and `converter`, and do not
//! know each other. `router` and `serve` put everything together.

mod converter;
mod figures;
#[cfg(fuzzing)]
pub mod fuzzing;
mod health;
mod identity;
mod protocol;
mod rest;
mod router;
mod serve;
mod server;
#[cfg(test)]
mod tests;
mod transfer;
mod ui;
mod webdav;

pub use converter::Converter;
pub use figures::record_metrics;
pub use serve::serve;
pub use server::trust::{AddressSource, PublicUrl, Trust};
pub use server::{Limits, Options, TlsFiles, bind};
