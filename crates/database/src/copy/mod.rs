//! Whole databases for backup and restore: a copy of a SQLite file, a dump of a PostgreSQL database and the way back, and a
//! snapshot that stays while something else reads the same state; whole PostgreSQL servers likewise.

mod cluster;
mod held;
mod programs;
mod server;
mod users;

pub use cluster::KeptLog;
pub use held::Held;
pub use programs::{Dump, Load};
pub use server::CopiedServer;
pub use users::require_unused;
