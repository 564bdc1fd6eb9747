//! What WebDAV looks like on the wire: XML bodies, header fields and addresses, read and written. Pure; no I/O, no knowledge of
//! what is stored.

pub mod bodies;
pub mod condition;
pub mod headers;
pub mod href;
pub mod judgement;
#[cfg(test)]
mod linear;
pub mod multistatus;
pub mod query;
pub mod xml;
