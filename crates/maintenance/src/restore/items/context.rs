//! Shared state of a traversal of a set: the session, the source, and the summary.

use std::sync::Arc;

use repository::Session;

use super::destination::{Lookups, Place};
use super::options::ItemsSummary;
use super::source::Source;
use crate::Progress;

/// Maximum number of notes, and of faults, that are kept.
pub(super) const TOLD: usize = 200;

/// Traversal of a set.
pub(super) struct Walk<'a> {
    pub session: &'a Session,
    pub source: &'a Source<'a>,
    pub summary: ItemsSummary,
    pub progress: Arc<Progress>,
    /// Libraries and lists that are there again and have not been filled yet.
    pub places: Vec<Place>,
    pub lookups: Lookups,
}

impl<'a> Walk<'a> {
    pub fn new(session: &'a Session, source: &'a Source<'a>, progress: Arc<Progress>) -> Self {
        let (summary, lookups) = (ItemsSummary::default(), Lookups::default());
        Self { session, source, summary, progress, places: Vec::new(), lookups }
    }

    pub fn note(&mut self, text: String) {
        if self.summary.notes.len() < TOLD && !self.summary.notes.contains(&text) {
            self.summary.notes.push(text);
        }
    }
}
