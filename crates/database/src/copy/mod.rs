//! Copies of whole databases for backup and restore: the copy of a SQLite file, the dump and load of a PostgreSQL
//! database, and a snapshot that stays open while another program reads the same state. Also copies of whole PostgreSQL
//! servers.

mod cluster;
mod held;
mod programs;
mod server;
mod users;

pub use cluster::ReplicationSlot;
pub use held::OpenSnapshot;
pub use programs::{Dump, Load, client_environment};
pub use server::CopiedServer;
pub use users::require_unused;
