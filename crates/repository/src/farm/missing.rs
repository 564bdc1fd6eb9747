//! Gaps in a response that is gathered from all content databases.

use std::collections::BTreeSet;

use crate::Session;

/// The content databases that are absent or unreadable, so that their content is missing from a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnavailableDatabases {
    databases: BTreeSet<String>,
    named: bool,
}

impl UnavailableDatabases {
    /// Returns whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    /// Returns the names of the databases if the caller is a farm administrator. Empty for all others, because a
    /// database may hold only content that they must not know of.
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
    /// Returns these databases as the gaps of a response for the caller.
    pub(crate) fn missing(&self, databases: Vec<String>) -> UnavailableDatabases {
        UnavailableDatabases { databases: databases.into_iter().collect(), named: self.principal.farm_administrator }
    }
}
