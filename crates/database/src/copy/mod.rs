//! Whole databases for backup and restore: a copy of a SQLite file, a dump of a PostgreSQL database and the way back, and a
//! snapshot that stays while something else reads the same state.

mod held;
mod programs;

pub use held::Held;
pub use programs::{Dump, Load};
