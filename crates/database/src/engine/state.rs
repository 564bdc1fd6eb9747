//! Owns the types that describe the state of a database: the commits, the extent of an integrity check, and damage.
//!
//! This module must not know an engine.

/// Damage found in a database. From then on its "not found" is not trusted.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The engine's report, for administrators only, because it names locations.
    pub report: String,
    /// Set if the disk failed to return what was written, which may still exist. Otherwise it returned something else.
    pub of_disk: bool,
}

/// The extent of an integrity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckExtent {
    /// Everything that the engine can check.
    Whole,
    /// As much as the time limit allowed.
    Partly,
    /// Nothing, because the server has its own programs for that.
    ByServer,
}

/// A commit stamp, which identifies a state of the database. Two stamps are equal only if nothing was committed in
/// between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) [u32; 12]);

/// A position in the log of changes. Two positions are equal only if nothing was committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub(super) Option<Mark>, pub(super) Option<i64>);
