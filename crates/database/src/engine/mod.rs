//! Owns connections, threads and transactions of both engines behind one handle, [`Database`].
//!
//! This module must not know any table.

mod at;
mod database;
mod errors;
mod exclusive_right;
mod location;
mod metrics;
mod options;
pub(crate) mod postgres;
mod queued;
mod row;
mod session;
mod space;
pub(crate) mod sqlite;
mod state;

#[cfg(any(test, feature = "testing"))]
pub(crate) use sqlite::open_file;

pub use database::Database;
pub use exclusive_right::ExclusiveRight;
pub use location::{Engine, Location};
pub use options::Options;
pub use row::Row;
pub use session::{Reader, Transaction};
pub use sqlite::{PageSums, WrongPages, runtime_threads};
pub use state::{CheckExtent, Damage, Mark, Position};
