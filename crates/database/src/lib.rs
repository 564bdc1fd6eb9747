//! Content and configuration databases: the sole owner of SQL.
//!
//! Two engines share one code path: SQLite in the process, PostgreSQL as a server. A transaction is a synchronous
//! closure that runs with a connection of its own; [`Database::read`] and [`Database::write`] and their variants are
//! the only entry points. Statements are constants beside the functions that run them; `dialect.rs` holds every
//! difference between the engines.
//!
//! This crate must not know BLOB stores, the search index, permissions or any protocol.

pub mod configuration;
pub mod content;
mod copy;
mod dialect;
mod engine;
#[cfg(fuzzing)]
pub mod fuzzing {
    //! Entry points for fuzz targets.
    pub use crate::engine::sqlite::fuzzing::pages;
}
#[cfg(test)]
mod every_statement;
#[cfg(test)]
mod every_word;
mod migrate;
mod statement;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod value;

pub use copy::{CopiedServer, Dump, Load, OpenSnapshot, ReplicationSlot, client_environment, require_unused};
pub use dialect::Sql;
pub use engine::{
    CheckExtent, Damage, Database, Engine, ExclusiveRight, Location, Mark, Options, PageSums, Position, Reader, Row,
    Transaction, WrongPages, runtime_threads,
};
pub use migrate::Schema;
pub use value::{Column, FromColumn, Value};
