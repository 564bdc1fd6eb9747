//! HTTP without a protocol on it: connections, identity, bodies and errors, which REST, WebDAV and the pages share.
//!
//! It owns the server, its limits and the figures that it counts. It must not know SQL, BLOB stores or the search
//! index, and it decides no permission: a handler asks a `Session` of the repository.

pub mod converter;
pub mod figures;
pub mod identity;
pub mod office_server;
pub mod pictures;
pub mod protocol;
mod result_cache;
pub mod server;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transfer;
