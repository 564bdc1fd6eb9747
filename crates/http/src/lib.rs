//! The web server: puts REST, WebDAV and the pages together under the layers that they share.
//!
//! It owns the order of the layers, `/healthz`, `/readyz` and `/metrics`, and the tests that need all routes.
//! Everything else is below: `http-core` serves connections, `rest`, `webdav` and `ui` answer requests and never know
//! each other.

#[cfg(fuzzing)]
pub mod fuzzing;
mod health;
mod router;
mod serve;
#[cfg(test)]
mod tests;

pub use http_core::converter::Converter;
pub use http_core::figures::record_metrics;
pub use http_core::office_server::OfficeServer;
pub use http_core::server::trust::{AddressSource, PublicUrl, Trust};
pub use http_core::server::{Limits, Options, TlsFiles, bind};
pub use serve::serve;
