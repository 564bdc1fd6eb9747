//! The edge: the only room that speaks HTTP.
//!
//! It owns the server, the routes, the protocols and the pages; it alone knows axum. It must not know SQL, BLOB stores
//! or the search index, and it decides no permission: every handler asks a `Session` of the repository.

mod bundle;
mod client;
mod content;
mod converter;
mod cookies;
mod courtesy;
mod crowd;
mod csrf;
#[cfg(test)]
mod damage;
mod edge;
mod error;
mod figures;
#[cfg(fuzzing)]
pub mod fuzzing;
mod health;
mod identity;
mod intake;
mod line;
mod place;
mod preface;
mod protocol;
mod proxy;
mod request;
mod rest;
mod router;
mod secure;
mod sending;
mod server;
mod stall;
mod state;
mod tls;
mod traffic;
mod ui;
mod unread;
mod webdav;

pub use client::{AddressSource, PublicUrl, Trust};
pub use converter::Converter;
pub use health::record_metrics;
pub use server::{Limits, Options, TlsFiles, bind, serve};
