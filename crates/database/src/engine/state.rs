//! Owns the words for the state of a database: what was committed, how much was looked through, what is damaged.
//!
//! This module must not know an engine.

/// Damage of a database that was found. From then on its "not found" is not trusted.
#[derive(Clone, Debug)]
pub struct Damage {
    /// What the engine said, for administrators: it names places.
    pub report: String,
    /// Whether the disk does not give what was written, which may be there. Otherwise something else was given.
    pub of_disk: bool,
}

/// How much of a database was looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// All that its engine looks at.
    Whole,
    /// As much as there was time for.
    Partly,
    /// Nothing: its server has programs for that.
    ByServer,
}

/// A state of a database; two are equal only when nothing was committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub(crate) [u32; 12]);

/// A place in the log of changes; two are equal only when nothing was committed in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub(super) Option<Mark>, pub(super) Option<i64>);
