//! A search, as far as it is the same for each content database.

use std::sync::Arc;
use std::time::Instant;

use model::Id;
use search::index::HitOrder;
use search::query::{SearchQuery, Tolerance};

use super::meanings::Meanings;
use super::name_query::NameQuery;

/// A search.
pub(super) struct SearchPlan {
    pub(super) names: Option<NameQuery>,
    pub(super) words: Option<Arc<TextPlan>>,
    /// How exactly documents must fulfil the words.
    pub(super) tolerance: Tolerance,
    /// Limit on the items.
    pub(super) limit: usize,
    /// The only content database that is searched; `None` for all.
    pub(super) database: Option<Id>,
    /// Time after which no further hits are read from their database.
    pub(super) until: Option<Instant>,
}

/// Words and filters that are looked up in the indexes.
pub(super) struct TextPlan {
    pub(super) query: SearchQuery,
    pub(super) meanings: Meanings,
    pub(super) order: HitOrder,
    pub(super) counts_facets: bool,
    pub(super) without_passages: bool,
}
