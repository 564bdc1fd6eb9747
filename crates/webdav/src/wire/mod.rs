//! The wire format of WebDAV: parsing and writing of XML bodies, header fields and URLs. This module is pure: no I/O,
//! and no knowledge of stored data.

pub mod bodies;
pub mod condition;
pub mod evaluation;
pub mod headers;
pub mod href;
#[cfg(test)]
mod linear;
pub mod multistatus;
pub mod query;
pub mod xml;
