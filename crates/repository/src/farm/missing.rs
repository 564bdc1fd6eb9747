//! What an answer lacks that is gathered from all content databases.

use std::collections::BTreeSet;

use crate::Session;

/// The content databases that are away or cannot be read, so that what is in them is missing in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    databases: BTreeSet<String>,
    named: bool,
}

impl Missing {
    /// Returns whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    /// The names of the databases, for who administers the farm. Empty for everybody else: a database may hold only what
    /// they know nothing of.
    pub fn names(&self) -> Vec<String> {
        if self.named { self.databases.iter().cloned().collect() } else { Vec::new() }
    }

    /// Adds a database.
    pub(crate) fn add(&mut self, database: String) {
        self.databases.insert(database);
    }

    /// Returns whether a database is missing.
    pub(crate) fn has(&self, database: &str) -> bool {
        self.databases.contains(database)
    }
}

impl Session {
    /// What is missing for the caller in an answer that lacks these databases.
    pub(crate) fn missing(&self, databases: Vec<String>) -> Missing {
        Missing { databases: databases.into_iter().collect(), named: self.principal.farm_administrator }
    }
}
