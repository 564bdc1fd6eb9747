//! The edge: the only room that speaks HTTP.
//!
//! It owns the server, the routes, the protocols and the pages; it alone knows axum. It must not know SQL, BLOB stores
//! or the search index, and it decides no permission: every handler asks a `Session` of the repository.

mod bundle;
mod content;
mod converter;
mod cookies;
mod courtesy;
mod csrf;
#[cfg(test)]
mod damage;
mod edge;
mod error;
mod figures;
mod health;
mod identity;
mod place;
mod preface;
mod protocol;
mod request;
mod rest;
mod router;
mod secure;
mod server;
mod stall;
mod state;
mod traffic;
mod ui;
mod unread;
mod webdav;

pub use converter::Converter;
pub use health::record_metrics;
pub use server::{Options, TlsFiles, serve};
